"use strict";
// The page is complete without this script; it adds search, keys and colours.
// It never makes markup of text, so nothing in a recording can act.
(() => {
  const root = document.documentElement;
  root.classList.add("script");
  const el = (id) => document.getElementById(id);
  const controls = { q: el("q"), kind: el("kind"), turn: el("turn"), dir: el("dir"), errors: el("errors") };
  const hits = [...document.querySelectorAll(".hit")];
  const texts = new Map(); // of hits, made when they are first searched

  const textOf = (hit) => {
    let text = texts.get(hit);
    if (text === undefined) texts.set(hit, text = hit.textContent.toLowerCase());
    return text;
  };

  // state is the state in the address: #q=...&kind=...&turn=...&dir=...&errors=1
  const state = () => {
    const want = {};
    for (const [name, c] of Object.entries(controls)) {
      const value = c.type === "checkbox" ? (c.checked ? "1" : "") : c.value.trim();
      if (value) want[name] = value;
    }
    return want;
  };

  const matches = (hit, want) => {
    const d = hit.dataset;
    return (!want.kind || d.k.split(" ").includes(want.kind)) && (!want.turn || d.t === want.turn) && (!want.dir || d.d === want.dir) &&
      (!want.errors || d.e !== undefined) && (!want.q || textOf(hit).includes(want.q.toLowerCase()));
  };

  const apply = () => {
    const want = state();
    const all = Object.keys(want).length === 0;
    let shown = 0;
    for (const hit of hits) {
      const ok = all || matches(hit, want);
      hit.hidden = !ok;
      if (ok) shown++;
    }
    for (const turn of document.querySelectorAll("article.turn")) turn.hidden = !all && !turn.querySelector(".hit:not([hidden])");
    for (const section of document.querySelectorAll("main > section")) {
      const none = section.querySelector(".nothing");
      none.hidden = all || section.querySelector(".hit:not([hidden])") !== null;
    }
    el("count").textContent = all ? "" : shown + " of " + hits.length;
    const hash = new URLSearchParams(want).toString();
    if (!all || location.hash.includes("=")) history.replaceState(null, "", "#" + hash);
  };

  const reset = () => {
    for (const c of Object.values(controls)) c.type === "checkbox" ? c.checked = false : c.value = "";
    apply();
  };

  // go opens and shows what the address names: a place, or a filter.
  const go = () => {
    const hash = decodeURIComponent(location.hash.slice(1));
    if (hash.includes("=")) {
      const want = new URLSearchParams(hash);
      for (const [name, c] of Object.entries(controls)) {
        const value = want.get(name) || "";
        c.type === "checkbox" ? c.checked = value !== "" : c.value = value;
      }
      apply();
      return;
    }
    let target = hash && el(hash);
    const line = /^f(\d+)$/.exec(hash);
    if (!target && line) { // inside a run of pieces, which has one row
      target = [...document.querySelectorAll(".frame")].findLast((f) => Number(f.id.slice(1)) <= Number(line[1]));
    }
    if (!target) return;
    if (target.hidden || target.closest("[hidden]")) reset();
    for (let d = target.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
    if (target.matches(".hit, .calls tr")) here(target);
    target.scrollIntoView({ block: "start" });
  };

  const focusable = (hit) => hit.matches("details") ? hit.querySelector("summary") : hit;
  const here = (hit) => {
    document.querySelector(".here")?.classList.remove("here");
    hit.classList.add("here");
    focusable(hit).focus({ preventScroll: true });
  };

  // step moves among the hits that are shown.
  const step = (by) => {
    const shown = hits.filter((h) => !h.hidden);
    const now = shown.indexOf(document.querySelector(".here"));
    const next = shown[now < 0 ? (by > 0 ? 0 : shown.length - 1) : now + by];
    if (!next) return;
    here(next);
    next.scrollIntoView({ block: "nearest" });
  };

  const stepTurn = (by) => {
    const turns = [...document.querySelectorAll("article.turn:not([hidden])")];
    const top = (t) => t.getBoundingClientRect().top - 110;
    const next = by > 0 ? turns.find((t) => top(t) > 5) : turns.findLast((t) => top(t) < -5);
    next?.scrollIntoView({ block: "start" });
  };

  // The bars of the timeline, in the order of time: arrows move among them, and a bar
  // leads to what it shows, or to its frame.
  const bars = [...document.querySelectorAll(".bar, .mark")];
  const stepBar = (by) => {
    const now = bars.indexOf(document.activeElement);
    bars[now + by]?.focus();
  };
  const toFrame = () => {
    const at = document.activeElement.closest("[data-frame]") || document.querySelector(".here");
    const frame = at?.dataset.frame || at?.querySelector("a[href^='#f']")?.hash.slice(1);
    if (frame) location.hash = "#" + frame;
  };
  for (const bar of bars) bar.addEventListener("click", (e) => {
    if (!e.shiftKey) return;
    e.preventDefault(); // which would open a window
    location.hash = "#" + bar.dataset.frame;
  });

  const themes = ["", "light", "dark"];
  const setTheme = (name) => {
    name ? root.dataset.theme = name : delete root.dataset.theme;
    el("theme").title = "Colours: " + (name || "as the system") + " (t)";
    try { localStorage.setItem("claudectl-theme", name); } catch { /* a page from a file may have no storage */ }
  };
  const turnTheme = () => setTheme(themes[(themes.indexOf(root.dataset.theme || "") + 1) % themes.length]);
  try { setTheme(localStorage.getItem("claudectl-theme") || ""); } catch { setTheme(""); }

  const keys = {
    "/": () => { controls.q.focus(); controls.q.select(); },
    j: () => step(1), k: () => step(-1),
    b: () => { bars[0]?.focus(); bars[0]?.closest("section").scrollIntoView({ block: "nearest" }); },
    ArrowRight: () => stepBar(1), ArrowLeft: () => stepBar(-1), f: toFrame,
    "]": () => stepTurn(1), "[": () => stepTurn(-1),
    e: () => { controls.errors.checked = !controls.errors.checked; apply(); },
    t: turnTheme,
    "?": () => el("keys").showModal(),
    Escape: reset,
    Enter: () => {
      const details = document.querySelector("tr.here, .item.here")?.querySelector("details");
      if (details) details.open = !details.open;
    },
  };
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || el("keys").open) return;
    const typing = e.target.matches("input[type=search], select");
    if (typing && e.key !== "Escape") return;
    if (e.key === "Enter" && !e.target.matches(".hit")) return; // links and summaries know what to do
    const act = keys[e.key];
    if (!act || e.key.startsWith("Arrow") && !bars.includes(e.target)) return;
    e.preventDefault();
    if (typing) e.target.blur();
    act();
  });

  el("filter").addEventListener("submit", (e) => e.preventDefault());
  let soon = 0;
  el("filter").addEventListener("input", () => { clearTimeout(soon); soon = setTimeout(apply, hits.length > 500 ? 120 : 0); });
  el("theme").addEventListener("click", turnTheme);
  el("help").addEventListener("click", keys["?"]);
  addEventListener("hashchange", go);
  go();
})();
