"use strict";
// Makes the page live. Everything is shown by the server; this follows the stream
// of events, loads the screen again when something has changed, and takes over
// the parts that differ. Only text that is being written is shown from here.
(() => {
  const root = document.documentElement, body = document.body, main = document.getElementById("main");
  const $ = id => document.getElementById(id);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const kept = { // settings; storage may be forbidden
    get: name => { try { return localStorage.getItem(name); } catch { return null; } },
    set: (name, value) => { try { localStorage.setItem(name, value); } catch { /* for this page only */ } },
  };
  root.classList.add("script");

  // Markup comes from our own server only.
  const policy = window.trustedTypes?.createPolicy("page", { createHTML: text => text, createScriptURL: () => "/sw.js" });
  const parse = text => new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");
  const say = (where, text) => { $(where).textContent = ""; setTimeout(() => { $(where).textContent = text; }, 50); };
  const flash = text => {
    let p = main.querySelector(".flash");
    if (!p) { p = document.createElement("p"); p.className = "flash"; p.setAttribute("role", "status"); main.prepend(p); }
    p.textContent = text;
  };

  // A half-typed text stays in the tab when the login has ended, and comes back after
  // the next one: for the same person, in the same place.
  const fields = () => all("form[method=post] textarea").map(field => [field, new URL(field.form.action).pathname + " " + field.name]);
  const draft = {
    keep(sent) {
      const texts = fields().filter(([field]) => field.value !== field.defaultValue).map(([field, place]) => [place, field.value]);
      if (texts.length) try { sessionStorage.setItem("draft", JSON.stringify({ user: body.dataset.user, path: location.pathname, texts, sent })); } catch { /* it is lost, as without a script */ }
    },
    drop() { try { sessionStorage.removeItem("draft"); } catch { /* nothing is there */ } },
    bring() {
      let old = null;
      try { old = JSON.parse(sessionStorage.getItem("draft")); } catch { /* nothing is there */ }
      if (old?.sent && root.dataset.screen === "login") { old.sent = false; sessionStorage.setItem("draft", JSON.stringify(old)); } // it was not taken
      if (!old || !body.dataset.user) return;
      if (old.user !== body.dataset.user || old.sent && root.dataset.screen === "conversation") { draft.drop(); return; } // it arrived, or is not theirs
      if (old.path !== location.pathname) return;
      const texts = new Map(old.texts), here = fields().filter(([field, place]) => texts.has(place) && field.value === field.defaultValue);
      for (const [field, place] of here) { field.value = texts.get(place); const more = field.closest("details"); if (more) more.open = true; }
      if (here.length) { draft.drop(); flash(old.sent ? "What you had typed is here again. See whether it has begun before you send it again." : "You were logged out. What you had typed is here again, and was not sent."); }
    },
  };
  // A login has ended: the page of the server asks for another.
  const loggedOut = () => { draft.keep(false); location.reload(); };

  // Times.
  const count = (n, what) => n + " " + what + (n === 1 ? "" : "s") + " ago";
  const ago = s => s < 60 ? "just now" : s < 3600 ? count(Math.floor(s / 60), "minute") : s < 172800 ? count(Math.floor(s / 3600), "hour") : count(Math.floor(s / 86400), "day");
  const tick = () => all("time").forEach(t => {
    const at = new Date(t.dateTime), text = "clock" in t.dataset ? at.toLocaleString() : ago((Date.now() - at) / 1000);
    if (t.textContent !== text) t.textContent = text;
    if (!t.title) t.title = at.toLocaleString();
  });
  setInterval(tick, 30000);

  // Taking over what has changed. Children with a key are kept if their version
  // is the same, so that a half-typed text and an opened detail stay.
  const pending = () => new Map(all("[data-pending]").map(c => [c.id, c.dataset.pending]));
  const said = () => new Map(all("[data-said]").map(i => [i.dataset.key, i.dataset.said]));
  const bottom = () => innerHeight + scrollY >= root.scrollHeight - 120;
  const toBottom = () => scrollTo(0, root.scrollHeight);

  // typesIn: the user types in a node, into a form that was not sent yet.
  const typesIn = node => node.contains(document.activeElement) && document.activeElement.matches("textarea, input:not([type=checkbox], [type=radio])") && !node.querySelector("form[data-sent]");
  // A field that goes away under the user's hands leaves them typing: hush keeps the
  // rest of the sentence from being taken for keys that decide.
  let hushed = -1e9;
  const hush = () => {
    hushed = performance.now();
    flash("This was decided elsewhere, or nobody needs it any more. What you were typing was not sent.");
  };

  // around shows everything in have anew but one child, which stays where it is, with
  // what was typed, chosen and opened there, and with the focus.
  function around(have, kept, node, fresh) {
    const focus = have.contains(document.activeElement) && document.activeElement !== have && !kept.contains(document.activeElement);
    for (const old of [...have.childNodes]) if (old !== kept) old.remove();
    const parts = [...node.childNodes], at = parts.indexOf(fresh);
    kept.before(...parts.slice(0, at));
    kept.after(...parts.slice(at + 1));
    Object.assign(have.dataset, node.dataset);
    if (focus) (have.matches("[tabindex]") ? have : main).focus({ preventScroll: true });
  }
  // asksTheSame keeps the form of a card, if its new version asks about the same input.
  function asksTheSame(have, node) {
    const form = have.querySelector(":scope > form.decide"), fresh = node.querySelector(":scope > form.decide");
    if (!form || form.elements.digest.value !== fresh?.elements.digest.value) return false;
    around(have, form, node, fresh);
    return true;
  }
  function replace(have, node) {
    const open = all("details", have).map(d => d.open);
    all("details", node).forEach((d, i) => { d.open ||= !!open[i]; });
    if (asksTheSame(have, node)) return;
    const focus = have.contains(document.activeElement), here = have.classList.contains("here"), types = typesIn(have);
    have.replaceWith(node);
    node.dataset.born = performance.now();
    if (here) node.classList.add("here");
    if (focus) node.focus({ preventScroll: true });
    if (types) hush();
  }
  function remove(node) {
    const next = node.nextElementSibling || node.previousElementSibling, types = typesIn(node);
    const here = node.contains(document.activeElement) || node.classList.contains("here");
    node.remove();
    if (!here) return;
    if (next && !types) { next.dataset.born = performance.now(); goTo(next); } else main.focus({ preventScroll: true });
    if (types) hush();
  }
  // A prompt that was typed and not sent stays, even if the conversation takes none.
  const unsent = node => node.matches("form.prompt") && (node.elements.prompt.value.trim() !== "" || attach.has(node));
  // choices shows what is chosen now in lists that are sent at once, and keeps the focus
  // in them: they show the current values.
  function choices(old, fresh) {
    for (const list of all("form[method=post] select[data-now]", old)) {
      const now = list.form.ariaBusy !== "true" && all("select", fresh).find(s => s.name === list.name);
      if (!now || list.innerHTML === now.innerHTML && list.value === now.value) continue;
      const value = now.value; // moving its options would change it
      list.replaceChildren(...now.childNodes);
      list.value = value;
    }
  }
  function sync(old, fresh) {
    for (const name of Object.keys(fresh.dataset)) old.dataset[name] = fresh.dataset[name];
    const rows = old.querySelector(":scope > .rows"), next = fresh.querySelector(":scope > .rows");
    if (rows && next) { sync(rows, next); around(old, rows, fresh, next); return; }
    if (!fresh.querySelector(":scope > [data-key]") && !old.querySelector(":scope > [data-key]")) {
      if (old.innerHTML === fresh.innerHTML || old.contains(document.activeElement) && document.activeElement.matches("select, input, textarea")) { choices(old, fresh); return; }
      const focus = old.contains(document.activeElement);
      old.replaceChildren(...fresh.childNodes);
      if (focus) main.focus({ preventScroll: true });
      return;
    }
    // Those that are gone go first, so that nothing else has to move: what moves loses
    // the focus.
    const wanted = new Set([...fresh.children].map(c => c.dataset.key));
    for (const node of [...old.children]) if (!wanted.has(node.dataset.key) && !unsent(node)) remove(node);
    const here = new Map([...old.children].map(c => [c.dataset.key, c]));
    let at = old.firstElementChild;
    for (const node of [...fresh.children]) {
      const have = here.get(node.dataset.key);
      if (have && have === at) at = at.nextElementSibling;
      if (!have) { node.dataset.born = performance.now(); old.insertBefore(node, at); }
      else if (have.dataset.v !== node.dataset.v) { if (have.nextElementSibling !== at) old.insertBefore(have, at); replace(have, node); }
      else if (have.nextElementSibling !== at) old.insertBefore(have, at);
    }
  }
  function take(doc) {
    if (doc.documentElement.dataset.screen !== root.dataset.screen) return;
    const asked = pending(), spoken = said(), low = bottom(), places = new Map(all(".card").map(c => [c, placeOf(c)]));
    // Paired first: a part that is taken over leaves the document with those inside it.
    const parts = all("[data-part]").map(part => [part, doc.querySelector(`[data-part="${part.dataset.part}"]`)]);
    for (const [part, fresh] of parts) if (fresh) sync(part, document.adoptNode(fresh));
    document.title = doc.title;
    const waiting = Number(/^\((\d+)\)/.exec(doc.title)?.[1] ?? 0), icon = $("icon");
    icon.href = waiting ? icon.dataset.dot : icon.dataset.still;
    if (navigator.setAppBadge) (waiting ? navigator.setAppBadge(waiting) : navigator.clearAppBadge()).catch(() => {});
    sweep();
    tick();
    seen();
    for (const [id, what] of pending()) if (!asked.has(id)) { say("urgent", what + " waits for your decision"); notify(id); }
    const fresh = [...said()].filter(([key]) => !spoken.has(key)).pop();
    if (fresh) say("polite", fresh[1]);
    if (root.dataset.screen === "conversation") {
      if (low) toBottom();
      else if (fresh) $("below").hidden = false;
    }
    for (const [card, place] of places) if (Math.abs(placeOf(card) - place) > 8) card.dataset.born = performance.now();
  }

  // A card that has just come, or moved, is deaf for a moment: the second tap of a
  // thumb, or the next key, was meant for the one that was there.
  const placeOf = card => card.getBoundingClientRect().top;
  const deaf = card => performance.now() - Number(card.dataset.born ?? -1e9) < 400;
  document.addEventListener("click", e => {
    const card = e.detail > 0 && e.target.closest?.("form.decide")?.closest(".card");
    if (card && deaf(card)) { e.preventDefault(); e.stopPropagation(); }
  }, true);

  // A visible conversation counts as read, after a moment, and at the latest when
  // the user turns away.
  let reading = 0;
  function seen() {
    if (!reading && !document.hidden && document.querySelector("form.read")) reading = setTimeout(read, 1000);
  }
  function read() {
    if (!reading) return;
    clearTimeout(reading);
    reading = 0;
    const form = document.querySelector("form.read");
    if (form) fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)), redirect: "manual", keepalive: true }).then(reply => { if (reply.type === "opaqueredirect") form.remove(); }, () => {});
  }

  // Loading the screen again: one at a time, and once more if something happened
  // meanwhile.
  let loading = null, again = false;
  const refresh = () => {
    again = true;
    return loading ??= (async () => {
      try {
        while (again) {
          again = false;
          const reply = await fetch(location.href, { headers: { Accept: "text/html" } });
          if (reply.status === 401) { loggedOut(); return; }
          if (reply.status === 404) { location.reload(); return; } // the page explains what to do
          if (!reply.ok) throw new Error(reply.statusText);
          const doc = parse(await reply.text());
          if (doc.body.dataset.user !== body.dataset.user) { location.replace(location.pathname + location.search); return; } // somebody else has logged in, in another tab
          take(doc);
          await new Promise(done => setTimeout(done, 150));
        }
      } finally { loading = null; }
    })();
  };

  // update shows what has changed. If that cannot be loaded, the next stream begins
  // with another attempt, so nothing stays unseen until something else happens.
  let updating = null;
  const update = () => {
    const shown = refresh();
    return updating ??= shown.catch(() => reconnect(1)).finally(() => { updating = null; });
  };

  // Text that is being written, by events.js. A block goes when the screen has the message
  // that it became a part of, in the same moment: a screen that was loaded before does not.
  const onScreen = () => Number($("timeline")?.dataset.seq ?? 0);
  let state = events.begin(onScreen());
  const elements = new Map(); // of blocks
  const box = $("live");
  function draw() {
    if (!box) return;
    const now = new Set(state.blocks.map(b => b.key));
    for (const [key, have] of elements) if (!now.has(key)) { have.element.remove(); elements.delete(key); }
    for (const b of state.blocks) {
      let have = elements.get(b.key);
      if (!have) {
        have = { element: document.createElement("div"), text: "" };
        have.element.className = b.kind === "thinking" ? "thinking" : "markdown";
        box.append(have.element);
        elements.set(b.key, have);
      }
      have.element.classList.toggle("open", b.done === undefined);
      if (have.text === b.text) continue;
      const low = bottom();
      have.text = b.text;
      if (b.kind === "thinking") have.element.textContent = b.text; else markdown(have.element, b.text);
      if (low) toBottom(); else $("below").hidden = false;
    }
  }
  function sweep() {
    state = events.shown(state, onScreen());
    draw();
  }
  const listeners = {
    partial: () => {},
    delta: () => { if (state.lost && box) reconnect(0); },
    compaction: () => {},
    message: () => update(),
    turn: () => update(),
    reset: () => { refresh().then(() => reconnect(0), () => reconnect(1)); },
    bye: () => reconnect(1),
    ping: () => {},
    synced: () => {},
  };
  for (const name of ["conversation", "prompt", "approval", "notice", "pending"]) listeners[name] = () => { update(); side(soon); };
  listeners.hint = e => { update(); side(turned(e.hint) ? soon : later); };

  // The conversations beside a wide screen: loaded on their own, soon after the state of
  // one has changed, and later after anything else, because each message makes a hint.
  const wide = matchMedia("(min-width: 70rem)"), soon = 2000, later = 15000;
  const states = new Map(); // of conversations, as the last hint told
  let sideTimer = 0, sideDue = Infinity, sideAt = -1e9, sideBusy = false;
  function turned(hint) {
    const now = JSON.stringify([hint?.state, hint?.pending, hint?.gone]), before = states.get(hint?.conversation);
    states.set(hint?.conversation, now);
    return now !== before;
  }
  function side(pause) {
    const now = performance.now(), due = Math.max(now, sideAt + pause);
    if (!$("sidebar") || !wide.matches || document.hidden || sideDue <= due) return;
    clearTimeout(sideTimer);
    sideDue = due;
    sideTimer = setTimeout(() => { sideDue = Infinity; if (sideBusy) side(pause); else loadSide(); }, due - now);
  }
  async function loadSide() {
    sideAt = performance.now();
    sideBusy = true;
    try {
      const here = location.pathname.split("/").slice(0, 3).join("/");
      const reply = await fetch("/sidebar?shown=" + here.slice("/c/".length)), doc = parse(await reply.text()), nav = $("sidebar");
      if (!reply.ok || doc.documentElement.dataset.screen !== "sidebar" || doc.body.dataset.user !== body.dataset.user) return;
      const focus = nav.contains(document.activeElement) && document.activeElement.getAttribute("href");
      for (const a of doc.querySelectorAll("a")) if (a.getAttribute("href") === here) a.setAttribute("aria-current", "page");
      nav.replaceChildren(...document.adoptNode(doc.body).childNodes);
      nav.hidden = false;
      if (focus) all("a", nav).find(a => a.getAttribute("href") === focus)?.focus({ preventScroll: true });
    } catch { /* the next change loads it */ } finally { sideBusy = false; }
  }
  wide.addEventListener("change", () => side(soon));
  if (!body.dataset.stream) setInterval(() => side(later), later); // nothing tells of changes

  // The stream: one in each tab, none while the tab is hidden.
  let source = null, heard = 0, attempts = 0, timer = 0;
  const bar = $("connection");
  const address = () => body.dataset.stream + (body.dataset.stream.endsWith("/events") ? `?after=${state.last}&feed=1` : "");
  const wanted = () => body.dataset.stream && (!document.hidden || kept.get("notify") === "1");
  function connect() {
    if (source || !wanted()) return;
    heard = Date.now();
    source = new EventSource(address());
    source.onopen = () => { heard = Date.now(); attempts = 0; bar.hidden = true; };
    source.onerror = () => reconnect(1);
    for (const name of events.names) {
      source.addEventListener(name, e => {
        heard = Date.now();
        const event = events.read(e);
        state = events.reduce(state, event);
        draw();
        listeners[name](event);
      });
    }
  }
  // reconnect makes a new stream, calmly: after a moment that grows, and first of
  // all by loading the screen, which shows whether there is a server and a login.
  function reconnect(wait) {
    source?.close();
    source = null;
    clearTimeout(timer);
    if (!wanted()) return;
    const pause = wait ? Math.min(15000, 1000 * 2 ** attempts++) * (0.5 + Math.random() / 2) : 0;
    if (attempts > 1) { bar.textContent = "The connection was lost. Trying again…"; bar.hidden = false; }
    timer = setTimeout(() => refresh().then(() => { state = events.begin(Math.max(state.last, onScreen())); draw(); connect(); }, () => reconnect(1)), pause);
  }
  setInterval(() => { if (source && Date.now() - heard > 25000) { attempts = Math.max(attempts, 1); reconnect(1); } }, 5000);
  addEventListener("online", () => { attempts = 0; reconnect(0); });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) read(); else seen();
    if (wanted()) { if (!source) { attempts = 0; reconnect(0); } } else { source?.close(); source = null; clearTimeout(timer); }
  });
  addEventListener("pagehide", () => { read(); source?.close(); source = null; });
  addEventListener("pageshow", e => { if (e.persisted) reconnect(0); });

  // Forms are sent from here, so that the screen stays. What did not arrive is
  // said, and can be sent again.
  async function send(form, button) {
    if (form.ariaBusy === "true") return;
    form.ariaBusy = "true";
    const pending = attach.pending(form);
    if (pending) await pending;
    const unsent = form.querySelector(".unsent"), given = new FormData(form, button), data = form.enctype === "multipart/form-data" ? given : new URLSearchParams(given);
    const fail = text => { if (unsent) { unsent.textContent = text; unsent.hidden = false; } else flash(text); say("urgent", text); };
    if (button) button.disabled = true;
    if (unsent) unsent.hidden = true;
    try {
      const reply = await fetch(form.action, { method: "POST", body: data });
      const doc = parse(await reply.text());
      if (reply.status === 401) { loggedOut(); return; }
      if (!reply.ok && !reply.redirected) { // a form that was taken leads elsewhere
        const why = doc.documentElement.dataset.screen === "problem" ? [doc.querySelector("h1")?.textContent, doc.querySelector(".problem p")?.textContent] : [`Not sent: the server answered ${reply.status}`, "Try again."];
        const text = why.filter(Boolean).join(". ");
        fail(text);
        if (form.querySelector("select[data-now]")) form.reset(); // it shows what holds
        if (reply.status === 409 || reply.status === 410) { flash(text); await update(); } // also where its card was
        return;
      }
      form.dataset.sent = "";
      if (form.matches("form.prompt")) { // ready for the next one at once
        form.reset(); attach.clear(form); form.elements.id.value = crypto.randomUUID?.() ?? "";
        form.ariaBusy = null; button.disabled = false;
        toBottom();
      }
      const done = doc.querySelector(".flash")?.textContent;
      if (done) say("polite", done);
      form.ariaBusy = null; // from here on it shows what holds
      await update();
    } catch {
      fail("Not sent: there is no connection. Try again.");
      if (form.querySelector("select[data-now]")) form.reset();
    } finally {
      form.ariaBusy = null;
      if (button) button.disabled = false;
    }
  }
  document.addEventListener("submit", e => {
    const form = e.target, path = new URL(form.action, location.href).pathname;
    const pending = path === "/new" && attach.pending(form);
    if (pending) { e.preventDefault(); pending.then(() => form.requestSubmit(e.submitter)); return; }
    if (path === "/new") draft.keep(true);
    if (path === "/logout") draft.drop();
    if (form.method !== "post" || ["/login", "/logout", "/new"].includes(path) || "leaves" in form.dataset) return;
    e.preventDefault();
    send(form, e.submitter);
  });
  document.addEventListener("change", e => {
    if ("now" in e.target.dataset) e.target.form.requestSubmit();
    if (e.target.matches("input[type=file]")) attach.add(e.target.form, [...e.target.files], refuse);
    if (e.target.id === "failed-only") $("timeline").classList.toggle("only-failed", e.target.checked);
    if (e.target.id === "keys-on") kept.set("keys", e.target.checked ? "on" : "off");
  });
  document.addEventListener("keydown", e => {
    if (e.key === "Enter" && !e.shiftKey && !e.isComposing && e.target.matches?.("form.prompt textarea") && !matchMedia("(pointer: coarse)").matches) { e.preventDefault(); e.target.form.requestSubmit($("send")); }
  });

  // Several decisions at once.
  several(async (form, data) => {
    try {
      const reply = await fetch(form.action, { method: "POST", body: data }), doc = parse(await reply.text());
      if (reply.status === 401) { loggedOut(); return; }
      const text = reply.ok || reply.redirected ? doc.querySelector(".flash")?.textContent : [doc.querySelector("h1")?.textContent, doc.querySelector(".problem p")?.textContent].filter(Boolean).join(". ");
      if (text) { flash(text); say("urgent", text); }
      await update();
    } catch { flash("Not sent: there is no connection. Nothing was decided, as far as is known here."); }
  }, text => { flash(text); say("urgent", text); });

  // Files that are pasted or dropped become attachments of the prompt.
  const refuse = text => say("urgent", text);
  document.addEventListener("paste", e => {
    const files = [...e.clipboardData?.files ?? []], form = attach.formOf(e.target);
    if (!files.length || !form) return;
    if (["text/plain", "text/html"].every(type => e.clipboardData.types.includes(type))) return; // of an office program, with a picture of the text
    e.preventDefault();
    attach.add(form, files, refuse);
  });
  const brings = e => e.dataTransfer?.types.includes("Files") && attach.formOf(main);
  document.addEventListener("dragover", e => { const form = brings(e); if (form) { e.preventDefault(); form.classList.add("drop"); } });
  document.addEventListener("dragleave", e => { if (!e.relatedTarget) attach.formOf(main)?.classList.remove("drop"); });
  document.addEventListener("drop", e => {
    const form = brings(e);
    if (!form) return;
    e.preventDefault();
    form.classList.remove("drop");
    attach.add(form, [...e.dataTransfer.files], refuse);
  });

  // Menus and settings.
  const themes = ["", "light", "dark"];
  // The frame of the window, or of the app on a phone, has the colour of the bar.
  const frames = all("meta[name=theme-color]"), colours = frames.map(m => m.content);
  const theme = name => {
    if (name) root.dataset.theme = name; else delete root.dataset.theme;
    frames.forEach((m, i) => { m.content = colours[name ? themes.indexOf(name) - 1 : i]; });
    kept.set("theme", name);
  };
  theme(kept.get("theme") ?? "");
  function notify(id) {
    if (kept.get("notify") !== "1" || !document.hidden || Notification.permission !== "granted") return;
    try {
      const shown = new Notification("An agent waits for your decision", { tag: id });
      shown.onclick = () => { focus(); shown.close(); };
    } catch { /* phones have it in service workers only */ }
  }
  // Notices by Web Push come while the page is closed, too. The subscription belongs to
  // this browser and to the user who is logged in: it ends with the login, and the next
  // user who logs in here has to ask for their own. Without push, an open page notifies by itself.
  const bell = document.querySelector("[data-do=notify]"), pushed = "push " + body.dataset.user;
  const canPush = bell?.dataset.push && navigator.serviceWorker && window.PushManager;
  const subscription = async () => (await navigator.serviceWorker.getRegistration("/"))?.pushManager.getSubscription();
  async function subscribe() {
    const at = await navigator.serviceWorker.register(policy ? policy.createScriptURL("") : "/sw.js", { scope: "/" });
    await navigator.serviceWorker.ready;
    const made = await at.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bell.dataset.push });
    await hand(made);
    kept.set("notify", pushed);
  }
  async function hand(made) {
    const { endpoint, keys } = made.toJSON();
    const reply = await fetch("/push", { method: "POST", body: new URLSearchParams({ endpoint, ...keys }) });
    if (!reply.ok) throw new Error(reply.statusText);
  }
  async function unsubscribe() {
    kept.set("notify", "");
    await (await subscription())?.unsubscribe();
    await fetch("/push/end", { method: "POST" });
  }
  async function ring() {
    if (kept.get("notify") === pushed || kept.get("notify") === "1") {
      if (canPush && kept.get("notify") === pushed) await unsubscribe().catch(() => {}); else kept.set("notify", "");
      flash("You will not be notified any more.");
    } else if (await Notification.requestPermission() === "granted") {
      const works = canPush && await subscribe().then(() => true, () => false);
      if (!works) kept.set("notify", "1");
      flash(works ? "You will be notified, even when this page is closed." : "You will be notified while this page is open.");
    }
    label();
  }
  const label = () => { if (bell) bell.textContent = [pushed, "1"].includes(kept.get("notify")) ? "Stop notifying me" : "Notify me"; };
  // The server may have lost a subscription, and a push service may have changed it.
  async function renew() {
    if (!canPush || kept.get("notify") !== pushed) return;
    try { if (sessionStorage.getItem("pushed") === pushed) return; sessionStorage.setItem("pushed", pushed); } catch { return; }
    const made = await subscription().catch(() => null);
    if (made) await hand(made).catch(() => {});
  }
  const actions = {
    theme: () => theme(themes[(themes.indexOf(root.dataset.theme ?? "") + 1) % themes.length]),
    help: () => $("keys")?.showModal(),
    notify: ring,
  };
  if (window.isSecureContext && window.Notification && Notification.permission !== "denied") all("[data-do=notify]").forEach(b => { b.hidden = false; });
  label();
  document.addEventListener("click", e => {
    const what = e.target.closest("[data-do]")?.dataset.do;
    if (what) actions[what]();
    all("details.me[open]").forEach(d => { if (!d.contains(e.target) || what) d.open = false; });
  });
  // The agent starts while the prompt is written, if there is room. The server does it once
  // in a minute at most, so it is asked no more often.
  let warmed = -Infinity;
  document.addEventListener("focusin", e => {
    const form = e.target.id === "prompt" && e.target.closest("form.prompt");
    if (!form || performance.now() - warmed < 60_000) return;
    warmed = performance.now();
    fetch(form.action.replace(/prompt$/, "prewarm"), { method: "POST", redirect: "manual", keepalive: true }).catch(() => {});
  });

  // The composer stays in sight. What gets the focus, and the button "New below", stay
  // above it, however high it is.
  const composer = document.querySelector(".composer");
  if (composer) new ResizeObserver(() => { root.style.setProperty("--composer", composer.offsetHeight + "px"); }).observe(composer);
  $("below")?.addEventListener("click", toBottom);
  addEventListener("scroll", () => { if ($("below") && bottom()) $("below").hidden = true; }, { passive: true });

  // Keys. One that is held down moves on, and does nothing else again.
  const items = () => all("[data-item]").filter(i => i.offsetParent);
  const current = () => document.querySelector(".here");
  function goTo(item) {
    current()?.classList.remove("here");
    item.classList.add("here");
    item.focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
  }
  function move(step) {
    const list = items(), at = list.indexOf(current());
    const next = list[at < 0 ? (step > 0 ? 0 : list.length - 1) : at + step];
    if (next) goTo(next);
  }
  const press = selector => {
    const card = current(), target = card?.querySelector(selector);
    if (!target || deaf(card)) return;
    target.click();
    if (target.matches("summary")) target.parentElement.querySelector("textarea")?.focus();
  };
  const go = path => { location.href = path; };
  const keys = {
    j: () => move(1), k: () => move(-1),
    a: () => press("[data-key-a]"), A: () => press("[data-key-remember]"), d: () => press("[data-key-d]"), e: () => press("[data-key-e]"),
    o: () => current()?.querySelector("a.where, a[href^='/c/']")?.click(),
    Enter: () => current()?.querySelector(":scope > details > summary, :scope > a, a.where")?.click(),
    n: () => go("/new"), "/": () => ($("q") ?? $("prompt"))?.focus(), "?": () => actions.help(),
    ".": () => document.querySelector("[data-key-stop]")?.click(),
    Escape: () => { current()?.classList.remove("here"); },
  };
  const places = { i: "/", c: "/h", h: "/h", $: "/cost" };
  let going = 0;
  if ($("keys-on")) $("keys-on").checked = kept.get("keys") !== "off";
  document.addEventListener("keydown", e => {
    const field = e.target.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, dialog");
    if (field && e.key === "Escape") field.blur();
    if (field || e.ctrlKey || e.metaKey || e.altKey || e.isComposing || kept.get("keys") === "off") return;
    if (performance.now() - hushed < 3000) { hushed = performance.now(); return; } // until the hands have rested
    if (e.key === "Enter" && e.target !== current()) return; // a link or a button has the focus
    if (e.repeat && e.key !== "j" && e.key !== "k") return;
    if (Date.now() - going < 1200 && places[e.key]) { e.preventDefault(); going = 0; go(places[e.key]); return; }
    if (e.key === "g") { going = Date.now(); return; }
    if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
  });
  document.addEventListener("pointerdown", () => { hushed = -1e9; });
  document.addEventListener("focusin", e => {
    const item = e.target.closest?.("[data-item]");
    if (item && item !== current()) { current()?.classList.remove("here"); item.classList.add("here"); }
  });

  // Start.
  const token = $("token");
  if (token && location.hash.startsWith("#t=")) {
    token.value = decodeURIComponent(location.hash.slice(3));
    history.replaceState(null, "", location.pathname + location.search); // the token stays out of the history
    token.form.submit();
  }
  const query = new URLSearchParams(location.search);
  if (query.has("did")) { // said once; what the screen is filtered by stays
    query.delete("did");
    history.replaceState(null, "", location.pathname + (query.size ? "?" + query : ""));
  }
  tick();
  draft.bring();
  if (root.dataset.screen === "conversation") toBottom();
  seen();
  side(soon);
  connect();
  renew();
})();
