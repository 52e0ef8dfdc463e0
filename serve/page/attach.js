"use strict";
// Files of a prompt: chosen, taken with the camera of a phone, pasted or dropped. They
// are kept in the field of their form, which sends them, and shown below the text.
const attach = (() => {
  const longest = 1568; // pixels: the model sees no more of a picture
  const enough = 320 * 1024; // bytes: two photos fit into a prompt
  const size = n => n < 1024 ? n + " bytes" : n < 1048576 ? (n / 1024).toFixed(0) + " KiB" : (n / 1048576).toFixed(1) + " MiB";
  const fieldOf = form => form?.querySelector("input[type=file][name=files]");
  const kept = new WeakMap(); // the files of a field
  const of = field => kept.get(field) ?? [];
  const under = new WeakMap(); // the additions to a field that are under way, one after the other

  // shrink draws a large picture again, smaller, as a JPEG. That also leaves out where
  // it was taken.
  async function shrink(file) {
    const asked = ["image/png", "image/jpeg", "image/gif", "image/webp"].includes(file.type);
    let picture;
    try { picture = await createImageBitmap(file); } catch { return file; } // the server says what is wrong with it
    const scale = Math.min(1, longest / Math.max(picture.width, picture.height));
    if (asked && (scale === 1 && file.size <= 200 * 1024 || file.type === "image/gif" && file.size <= 400 * 1024)) return file;
    let blob = null;
    for (let side = scale, quality = 0.85; !blob || blob.size > enough && side > scale / 8; quality > 0.6 ? quality -= 0.2 : side *= 0.75) {
      const canvas = document.createElement("canvas");
      canvas.width = Math.max(1, Math.round(picture.width * side));
      canvas.height = Math.max(1, Math.round(picture.height * side));
      const pen = canvas.getContext("2d");
      pen.fillStyle = "#fff"; // what was transparent
      pen.fillRect(0, 0, canvas.width, canvas.height);
      pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
      blob = await new Promise(done => canvas.toBlob(done, "image/jpeg", quality));
      if (!blob) break; // the canvas is too large for this browser
    }
    picture.close();
    if (!blob || asked && blob.size >= file.size) return file;
    return new File([blob], file.name.replace(/\.[^.]*$/, "") + ".jpg", { type: "image/jpeg" });
  }

  function show(field, files) {
    kept.set(field, files);
    field.form.querySelector(".attach-refused").hidden = true;
    const data = new DataTransfer(), list = field.form.querySelector(".attach-list"), text = field.form.elements.prompt;
    for (const file of files) data.items.add(file);
    field.files = data.files;
    list.hidden = !files.length;
    list.replaceChildren(...files.map((file, i) => {
      const item = document.createElement("li"), name = document.createElement("span"), button = document.createElement("button");
      name.textContent = file.name + " · " + size(file.size);
      button.type = "button"; button.className = "small"; button.textContent = "✕";
      button.setAttribute("aria-label", "Remove " + file.name);
      button.addEventListener("click", () => { show(field, of(field).filter((_, j) => j !== i)); text.focus(); });
      item.append(name, button);
      return item;
    }));
    text.required = !files.length;
  }

  // add takes files into a form after those that came before them.
  function add(form, more, fail) {
    const field = fieldOf(form), mine = (under.get(field) ?? Promise.resolve()).then(() => take(form, more, fail)).finally(() => {
      if (under.get(field) === mine) under.delete(field);
    });
    under.set(field, mine);
    return mine;
  }

  // take takes files, and tells what it cannot take. It never touches the text.
  async function take(form, more, fail) {
    const field = fieldOf(form), most = Number(field.dataset.most), bytes = Number(field.dataset.bytes), refused = [];
    let files = of(field);
    for (const file of more) {
      if (files.length >= most) { refused.push(`${file.name} is one too many: a prompt takes ${most} files`); break; }
      const small = file.type.startsWith("image/") ? await shrink(file) : file;
      const sum = files.reduce((n, f) => n + f.size, small.size);
      if (!small.size) refused.push(`${file.name} is empty`);
      else if (/^(audio|video)\/|zip|msword|officedocument/.test(small.type)) refused.push(`${file.name} is neither a picture nor a PDF nor a text`);
      else if (sum > bytes) refused.push(`${file.name} is too large: all files together may have ${size(bytes)}`);
      else files = [...files, small];
    }
    show(field, files);
    const why = form.querySelector(".attach-refused");
    why.textContent = refused.length ? refused.join(". ") + "." : "";
    why.hidden = !refused.length;
    if (refused.length) fail(why.textContent);
  }
  return {
    add, pending: form => under.get(fieldOf(form)), // a promise while pictures are made smaller
    has: form => of(fieldOf(form)).length > 0,
    clear: form => { const field = fieldOf(form); if (field) show(field, []); },
    formOf: node => { const form = node.closest?.("form") ?? document.querySelector("form.prompt"); return fieldOf(form) ? form : null; },
  };
})();
