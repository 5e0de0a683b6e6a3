// Buttons that copy what stands before them. Without this script they stay hidden, and the text can be selected.
"use strict";

const said = document.getElementById("copied");

function text(source) {
  return source instanceof HTMLInputElement ? source.value : source.textContent;
}

// The clipboard is there only on https and localhost; elsewhere the older command may still do.
async function copy(source) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text(source));
    return;
  }
  if (source instanceof HTMLInputElement) {
    source.select();
  } else {
    getSelection().selectAllChildren(source);
  }
  if (!document.execCommand("copy")) throw new Error("not allowed");
}

for (const source of document.querySelectorAll("[data-copy]")) {
  const button = source.parentElement.querySelector("button");
  const label = button.firstChild;
  let back;
  button.hidden = false;
  button.addEventListener("click", async () => {
    let done = "Copied";
    try {
      await copy(source);
    } catch {
      done = "Not copied";
    }
    label.data = done;
    said.textContent = done === "Copied" ? "Copied to the clipboard." : "Could not copy. Select the text instead.";
    clearTimeout(back);
    back = setTimeout(() => {
      label.data = "Copy";
      said.textContent = "";
    }, 3000);
  });
}

// A browser may keep this page for the way back, though it is told to store nothing. Without what is shown once.
addEventListener("pagehide", () => document.querySelector(".secret")?.remove());
