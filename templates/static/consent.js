// The button that allows works only after its page was seen with the focus for half a second. A click that was meant for
// a page that lay over this one, or the second of a double click, allows nothing (RFC 9700 §4.16). It stands before the
// form, so that there is no moment at which the button is there and this script is not. Without it the button works at once.
"use strict";

const least = 500; // milliseconds

// What does not know classes runs none of this: such a browser asks at once, as without a script.
class Pause {
  since = Infinity; // when the page was seen with the focus; it is not now

  ready(at) {
    return at - this.since >= least;
  }

  // A frame is drawn only where the page is seen.
  begin() {
    this.end();
    this.frame = requestAnimationFrame(() => {
      this.since = performance.now();
      this.timer = setTimeout(() => this.show(true), least);
    });
  }

  end() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    this.since = Infinity;
    this.show(false);
  }

  // The button keeps its place for the keyboard, and a screen reader says that it cannot be used yet: disabled would
  // take the focus away from whoever is on it.
  show(ready) {
    const button = document.querySelector("[data-pause]");
    if (ready) {
      button?.removeAttribute("aria-disabled");
      this.say(false);
    } else {
      button?.setAttribute("aria-disabled", "true");
    }
  }

  say(early) {
    const status = document.getElementById("pause");
    if (status) status.textContent = early ? status.dataset.early : "";
  }

  // The moment counts at which the button was pressed, not the one at which a busy page hears of it.
  press(event) {
    if (!event.target.closest?.("[data-pause]") || this.ready(event.timeStamp || performance.now())) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    // A browser that never says that the page has the focus: whoever presses here sees it.
    if (this.since === Infinity) this.begin();
    this.say(true);
  }
}

const pause = new Pause();
const look = () => (document.hasFocus() && document.visibilityState === "visible" ? pause.begin() : pause.end());

addEventListener("click", (event) => pause.press(event), true);
addEventListener("focus", look);
addEventListener("blur", () => pause.end());
addEventListener("pageshow", look);
document.addEventListener("visibilitychange", look);
document.addEventListener("DOMContentLoaded", look);
