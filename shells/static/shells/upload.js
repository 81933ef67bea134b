// A file that is too large is not sent. While one is checked or imported, the page shows how far that is; at
// the end it is loaded again.
"use strict";

document.addEventListener("change", ({ target }) => {
  if (!target.matches("input[type=file][data-max-bytes]")) return;
  const tooLarge = target.files.length && target.files[0].size > Number(target.dataset.maxBytes);
  target.setCustomValidity(tooLarge ? target.dataset.tooLarge : "");
  if (tooLarge) target.reportValidity();
});

document.addEventListener("DOMContentLoaded", () => {
  const upload = document.querySelector("#upload[data-progress]");
  if (!upload) return;
  const bar = upload.querySelector("progress");

  async function look() {
    try {
      const answer = await fetch(upload.dataset.progress, { credentials: "same-origin" });
      if (answer.ok) {
        const now = await answer.json();
        if (now.finished) {
          window.location.reload();
          return;
        }
        bar.max = now.size || 1;
        bar.value = now.read;
        for (const cell of upload.querySelectorAll("[data-count]")) {
          cell.textContent = (now.counts[cell.dataset.count] || 0).toLocaleString(document.documentElement.lang);
        }
      }
    } catch {
      // The server is being restarted, perhaps: look again.
    }
    window.setTimeout(look, 1000);
  }

  look();
});
