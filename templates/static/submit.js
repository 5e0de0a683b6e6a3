// Sends the one form of the page that carries an answer back to the application. Without this script there is a button.
"use strict";

document.querySelector("form[data-submit]")?.submit();
