"use strict";
// Shows Markdown while it is being written, as the server shows it when it is done. It
// makes elements only, never markup, so nothing that a model writes can act.
const markdown = (() => {
  const make = (name, children = [], attributes = {}) => {
    const e = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    e.append(...children);
    return e;
  };
  // Characters that hide or turn text are shown as what they are.
  const clean = text => text.replace(/\r\n?/g, "\n").replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, c => {
    const code = c.charCodeAt(0).toString(16);
    return code.length > 2 ? "\\u" + code.padStart(4, "0") : "\\x" + code.padStart(2, "0");
  });

  const outside = { rel: "noopener noreferrer nofollow", target: "_blank" };
  function link(label, address, depth) {
    let to = null;
    try { to = new URL(address); } catch { /* it is not one */ }
    if (!to || !/^https?:$/.test(to.protocol) || to.username || to.password) return [...inline(label, depth + 1, true), " (", make("code", [address]), ")"];
    const made = make("a", inline(label, depth + 1, true), { href: address, ...outside });
    return label.includes(to.host) ? [made] : [made, " ", make("span", ["(" + to.host + ")"], { class: "host" })];
  }
  // What stands in a line, the first match first. Links have none inside.
  const within = name => (m, depth, linked) => [make(name, inline(m[1], depth + 1, linked))];
  const spans = [
    [/\\([!-/:-@[-`{-~])/, m => [m[1]]],
    [/(`+)(?!`)([^]*?[^`])\1(?!`)/, m => [make("code", [m[2].replace(/\n/g, " ").replace(/^ (.*\S.*) $/, "$1")])]],
    [/!?\[([^\][]*)\]\(<?((?:[^\s()<>]|\([^\s()<>]*\))*)>?(?:\s+"[^"]*")?\)/, (m, depth, linked) => linked ? [m[0]] : link(m[1], m[2], depth)],
    [/\*\*(?=\S)([^]*?[^\s*]\**)\*\*/, within("strong")],
    [/(?<![\w])__(?=\S)([^]*?\S)__(?!\w)/, within("strong")],
    [/\*(?=[^\s*])([^]*?[^\s*])\*(?!\*)/, within("em")],
    [/(?<!\w)_(?=[^\s_])([^]*?[^\s_])_(?!\w)/, within("em")],
    [/~~(?=\S)([^]*?\S)~~/, within("del")],
    [/https?:\/\/[^\s<>"']*[^\s<>"'.,;:!?)\]]/, (m, _, linked) => linked ? [m[0]] : [make("a", [m[0]], { href: m[0], ...outside })]],
    [/ *\n/, () => [make("br")]],
  ];
  const deepest = 32; // lists, quotes and spans in each other
  function inline(text, depth, linked) {
    const out = [];
    if (depth > deepest) return [text];
    while (text) {
      let first = null, how = null;
      for (const [pattern, show] of spans) {
        const m = pattern.exec(text);
        if (m && (!first || m.index < first.index)) { first = m; how = show; }
      }
      if (!first) { out.push(text); break; }
      if (first.index) out.push(text.slice(0, first.index));
      out.push(...how(first, depth, linked));
      text = text.slice(first.index + first[0].length);
    }
    return out;
  }

  const fence = /^ {0,3}(`{3,}|~{3,})([^`]*)$/, heading = /^ {0,3}#{1,6}(?:\s+(.*?))?(?:\s+#+)?\s*$/, rule = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
  const item = /^( {0,3})([-*+]|\d{1,9}[.)])(?: ( {0,3})|$)/, quote = /^ {0,3}> ?/, row = /^\s*\|?(.*?)\|?\s*$/, divider = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;
  const begins = line => fence.test(line) || heading.test(line) || rule.test(line) || quote.test(line) || item.test(line);
  const cells = line => row.exec(line)[1].split(/(?<!\\)\|/).map(c => c.trim());

  function table(lines, at, depth) {
    const sides = cells(lines[at + 1]).map(c => c.endsWith(":") ? c.startsWith(":") ? { class: "center" } : { class: "right" } : {});
    const line = (name, text) => make("tr", sides.map((side, i) => make(name, inline(cells(text)[i] ?? "", depth), side)));
    const head = make("thead", [line("th", lines[at])]), rows = [];
    for (at += 2; at < lines.length && lines[at].trim() && !begins(lines[at]); at++) rows.push(line("td", lines[at]));
    return [make("table", rows.length ? [head, make("tbody", rows)] : [head]), at];
  }
  // list takes the items of one list: lines that are as far in as the first text belong
  // to their item.
  function list(lines, at, depth) {
    const mark = m => /\d/.test(m[2]) ? m[2].slice(-1) : m[2];
    const first = item.exec(lines[at]), own = [], kind = mark(first);
    let loose = false; // a blank line between its parts makes each a paragraph
    for (let m; at < lines.length && (m = item.exec(lines[at])) && mark(m) === kind && !rule.test(lines[at]);) {
      const inside = m[0].length + (m[3] === undefined ? 1 : 0), text = [lines[at].slice(m[0].length)];
      for (at++; at < lines.length; at++) {
        const indent = /^ */.exec(lines[at])[0].length, blank = !lines[at].trim();
        if (blank ? !(at + 1 < lines.length && /^ */.exec(lines[at + 1])[0].length >= inside && lines[at + 1].trim()) : indent < inside && (begins(lines[at]) || !text.at(-1).trim())) break;
        loose ||= blank;
        text.push(lines[at].slice(Math.min(indent, inside)));
      }
      text[0] = text[0].replace(/^\[([ xX])\] /, (_, x) => (x === " " ? "☐" : "☑") + " ");
      own.push(text);
      let next = at;
      while (next < lines.length && !lines[next].trim()) next++;
      if (next < lines.length && mark(item.exec(lines[next]) ?? ["", "", "none"]) === kind) { loose ||= next > at; at = next; }
    }
    const words = (b, i, all) => b.localName === "p" && !b.className ? [...b.childNodes, ...(i + 1 < all.length ? [make("br")] : [])] : [b];
    const all = own.map(text => make("li", loose ? blocks(text, depth + 1) : blocks(text, depth + 1).flatMap(words)));
    const start = parseInt(first[2], 10);
    return [/\d/.test(first[2]) ? make("ol", all, start === 1 ? {} : { start }) : make("ul", all), at];
  }
  function blocks(lines, depth) {
    const out = [];
    if (depth > deepest) return [make("p", [lines.join("\n")])];
    for (let at = 0; at < lines.length;) {
      const line = lines[at];
      let m;
      if (!line.trim()) at++;
      else if (m = fence.exec(line)) {
        const end = new RegExp("^ {0,3}" + m[1][0] + "{" + m[1].length + ",}\\s*$"), code = [];
        for (at++; at < lines.length && !end.test(lines[at]); at++) code.push(lines[at] + "\n");
        at++;
        out.push(make("pre", [code.join("")], { tabindex: 0 }));
      } else if (m = heading.exec(line)) { out.push(make("p", inline(m[1] ?? "", depth), { class: "heading" })); at++; }
      else if (rule.test(line)) { out.push(make("hr")); at++; }
      else if (quote.test(line)) {
        const own = [];
        for (; at < lines.length && lines[at].trim() && (quote.test(lines[at]) || !begins(lines[at])); at++) own.push(lines[at].replace(quote, ""));
        out.push(make("blockquote", blocks(own, depth + 1)));
      } else if (item.test(line)) { const [made, next] = list(lines, at, depth); out.push(made); at = next; }
      else if (line.includes("|") && divider.test(lines[at + 1] ?? "") && cells(lines[at + 1]).length === cells(line).length) { const [made, next] = table(lines, at, depth); out.push(made); at = next; }
      else {
        const own = [];
        for (; at < lines.length && lines[at].trim() && (!own.length || !begins(lines[at])); at++) own.push(lines[at].trim());
        out.push(make("p", inline(own.join("\n"), depth)));
      }
    }
    return out;
  }
  // show shows a text in an element, and leaves what is the same as before.
  return function show(element, text) {
    if (text.length > 65536 || text.split(/\n\s*\n/).some(run => run.length > 10240)) { // as the server does
      element.replaceChildren(make("pre", [clean(text)], { tabindex: 0 }));
      return;
    }
    const fresh = blocks(clean(text).split("\n"), 0);
    let same = 0;
    while (same < fresh.length && same < element.childNodes.length && element.childNodes[same].isEqualNode(fresh[same])) same++;
    while (element.childNodes.length > same) element.lastChild.remove();
    element.append(...fresh.slice(same));
  };
})();
