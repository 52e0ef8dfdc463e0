"use strict";
// Several approvals of the same tool and shape are decided at once. The decision waits
// for a moment in which it can be undone; it is sent from here, so one that is never
// sent decides nothing.
const several = (send, flash) => {
  const form = document.getElementById("several");
  if (!form) return;
  const boxes = () => [...document.querySelectorAll("input[name=pick]")];
  const picked = form.querySelector(".picked"), every = document.getElementById("pick-all"), undo = document.getElementById("undo");
  const buttons = [...form.querySelectorAll("button[name=decision]")];
  let timer = 0;
  function show() {
    const chosen = boxes().filter(b => b.checked), shape = chosen[0]?.dataset.shape, alike = boxes().filter(b => b.dataset.shape === shape);
    for (const b of boxes()) b.disabled = timer !== 0 || shape !== undefined && b.dataset.shape !== shape;
    form.classList.toggle("on", chosen.length > 0);
    form.hidden = chosen.length === 0;
    picked.hidden = false;
    if (!timer) picked.textContent = `${chosen.length} chosen`;
    every.hidden = timer !== 0 || alike.length <= chosen.length;
    every.textContent = `All ${alike.length} like ${chosen.length === 1 ? "this" : "these"}`;
    undo.hidden = timer === 0;
    for (const b of buttons) b.hidden = timer !== 0;
  }
  document.addEventListener("change", e => { if (e.target.name === "pick") show(); });
  new MutationObserver(show).observe(document.querySelector("[data-part=cards]"), { childList: true, subtree: true });
  every.addEventListener("click", () => {
    const shape = boxes().find(b => b.checked)?.dataset.shape;
    for (const b of boxes()) b.checked = b.dataset.shape === shape;
    show();
  });
  const stop = () => { clearTimeout(timer); timer = 0; show(); };
  undo.addEventListener("click", () => { stop(); flash("Undone: nothing was decided."); });
  form.addEventListener("submit", e => {
    e.preventDefault();
    e.stopPropagation();
    if (timer) return;
    const verb = e.submitter?.value, values = boxes().filter(b => b.checked).map(b => b.value);
    if (!verb || !values.length) return;
    timer = setTimeout(async () => {
      const data = new URLSearchParams([["decision", verb], ["sure", "1"], ["back", form.elements.back.value], ...values.map(v => ["pick", v])]);
      for (const b of boxes()) b.checked = false;
      stop();
      await send(form, data);
    }, Number(form.dataset.moment ?? 5000));
    show();
    picked.textContent = `${verb === "allow" ? "Allows" : "Denies"} ${values.length} in a moment…`;
    undo.focus();
  });
  show();
};
