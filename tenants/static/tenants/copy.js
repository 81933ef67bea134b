// Buttons that copy the text beside them; and the page of credentials, which must not come back.
"use strict";

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = button.parentElement.querySelector("[data-copied]");
  const range = document.createRange();
  range.selectNodeContents(source);
  window.getSelection().removeAllRanges();
  window.getSelection().addRange(range);
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch {
    return; // no clipboard without https: the text is selected, to be copied by hand
  }
  const label = button.querySelector("[data-text]");
  const before = label.textContent;
  label.textContent = button.dataset.done;
  setTimeout(() => { label.textContent = before; }, 1500);
});

// The credentials are the answer to a form. From now on the address of this page is the module's own, so that
// "reload" asks for that and does not send the form again.
const credentials = document.getElementById("credentials");
if (credentials) history.replaceState(null, "", credentials.dataset.page);
