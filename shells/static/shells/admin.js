// Pages of descriptors: copy, fold, and the line numbers of the editor. All work without it, less comfortably.
"use strict";

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy], [data-fold], [data-line]");
  if (!button) return;
  if (button.dataset.copy) copy(button);
  if (button.dataset.fold) fold(button.dataset.fold === "open");
  if (button.dataset.line) showLine(Number(button.dataset.line));
});

function textOf(element) {
  return element.tagName === "SCRIPT" ? JSON.parse(element.textContent) : element.textContent;
}

async function copy(button) {
  const text = textOf(document.getElementById(button.dataset.copy));
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text); // without https there is no clipboard
  }
  button.classList.add("is-copied");
  const label = button.textContent;
  button.textContent = "✓";
  setTimeout(() => { button.textContent = label; }, 1000);
}

function copyBySelection(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.style.position = "fixed";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

function fold(open) {
  for (const node of document.querySelectorAll("#document-tree details")) node.open = open;
}

let editor;
let numbers;

function defectLines() {
  return new Set([...document.querySelectorAll("[data-line]")].map((item) => Number(item.dataset.line)));
}

function numberLines() {
  const count = editor.value.split("\n").length;
  if (numbers.childElementCount === count) return;
  const defects = defectLines();
  numbers.replaceChildren(...Array.from({ length: count }, (_, index) => {
    const line = document.createElement("div");
    line.textContent = String(index + 1);
    if (defects.has(index + 1)) line.className = "has-defect";
    return line;
  }));
}

function showLine(line) {
  const lines = editor.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  editor.focus();
  editor.setSelectionRange(start, start + (lines[line - 1] || "").length);
  editor.scrollTop = Math.max(0, (line - 4) * editor.scrollHeight / lines.length);
}

document.addEventListener("DOMContentLoaded", () => {
  editor = document.querySelector(".shell-editor textarea");
  numbers = document.querySelector(".shell-lines");
  if (!editor) return;
  const initial = editor.value;
  let leaving = false;
  editor.addEventListener("input", numberLines);
  editor.addEventListener("scroll", () => { numbers.scrollTop = editor.scrollTop; });
  editor.form.addEventListener("submit", () => { leaving = true; });
  window.addEventListener("beforeunload", (event) => {
    if (!leaving && editor.value !== initial) event.preventDefault();
  });
  numberLines();
});
