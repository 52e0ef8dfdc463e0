"use strict";
// Several approvals of the same tool and shape are decided at once. The decision waits
// for a moment in which it can be undone. The moment ends when the page is left or
// hidden: a decision is neither lost nor sent hours later, when a phone wakes.
const several = (send, flash) => {
  const form = document.getElementById("several");
  if (!form) return;
  const boxes = () => [...document.querySelectorAll("input[name=pick]")];
  const picked = form.querySelector(".picked"), every = document.getElementById("pick-all"), undo = document.getElementById("undo");
  const buttons = [...form.querySelectorAll("button[name=decision]")];
  let timer = 0, decision = null; // what is sent when the moment is over
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
  const stop = () => { clearTimeout(timer); timer = 0; decision = null; show(); };
  function decide(leaving) {
    const { data } = decision;
    for (const b of boxes()) b.checked = false;
    stop();
    return send(form, data, leaving);
  }
  const leave = () => { if (decision) decide(true); };
  addEventListener("pagehide", leave);
  document.addEventListener("visibilitychange", () => { if (document.hidden) leave(); });
  undo.addEventListener("click", () => { stop(); flash("Undone: nothing was decided."); });
  form.addEventListener("submit", e => {
    e.preventDefault();
    e.stopPropagation();
    if (timer) return;
    const verb = e.submitter?.value, values = boxes().filter(b => b.checked).map(b => b.value);
    if (!verb || !values.length) return;
    const data = new URLSearchParams([["decision", verb], ["sure", "1"], ["back", form.elements.back.value], ...values.map(v => ["pick", v])]);
    const moment = Number(form.dataset.moment ?? 5000);
    decision = { data, due: Date.now() + moment };
    timer = setTimeout(() => {
      if (Date.now() - decision.due < 30000) { decide(false); return; }
      stop(); // the machine slept: what was seen then may be long past
      flash("Nothing was decided: the page was asleep. Decide again.");
    }, moment);
    show();
    picked.textContent = `${verb === "allow" ? "Allows" : "Denies"} ${values.length} in a moment…`;
    undo.focus();
  });
  show();
};
