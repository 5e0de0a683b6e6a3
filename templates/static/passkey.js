// Passkeys. What a page offers about them is hidden until this script runs, because browsers offer them to scripts alone. The
// form of the page carries the request of the server, and takes the answer of the browser back to it.
"use strict";

const form = document.querySelector("form[data-passkey]");
const asked = form ? JSON.parse(form.dataset.options) : null;
const life = 270_000; // milliseconds: the server accepts an answer for five minutes
const opened = Date.now();

// A browser at another address of the same server would refuse the request.
const here = !asked || location.hostname === (asked.rpId ?? asked.rp.id);
const usable = isSecureContext && here && "PublicKeyCredential" in window;

// The server writes bytes as base64url.
const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

function request() {
  const key = { ...asked, challenge: bytes(asked.challenge) };
  if (key.user) key.user = { ...key.user, id: bytes(key.user.id) };
  for (const list of ["excludeCredentials", "allowCredentials"]) {
    if (key[list]) key[list] = key[list].map((one) => ({ ...one, id: bytes(one.id) }));
  }
  return key;
}

function answer(made) {
  const response = { transports: made.response.getTransports?.() };
  for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (made.response[name]) response[name] = text(made.response[name]);
  }
  return JSON.stringify({ id: made.id, rawId: made.id, type: made.type, response, clientExtensionResults: {} });
}

// A browser answers one request at a time: the one of the button ends the one of the username field.
let waiting;

async function ask(how) {
  waiting?.abort();
  waiting = new AbortController();
  const options = { publicKey: request(), signal: waiting.signal, ...how };
  const made = form.dataset.passkey === "create" ? await navigator.credentials.create(options) : await navigator.credentials.get(options);
  form.elements.response.value = answer(made);
  form.submit();
}

// The browser lists passkeys in the username field, beside the names that it knows.
async function suggest() {
  if (form.dataset.passkey !== "get" || !(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
  const ends = setTimeout(() => waiting.abort(), opened + life - Date.now());
  await ask({ mediation: "conditional" }).catch(() => {}); // the person has chosen something else
  clearTimeout(ends);
}

async function press() {
  const said = document.getElementById("passkey-said");
  said.textContent = "";
  try {
    await ask({});
  } catch (error) {
    said.textContent = error.name === "InvalidStateError" ? said.dataset.known : said.dataset.none;
    suggest();
  }
}

// The page with a new request. What is remembered is to be done there.
function renew(then) {
  if (then) sessionStorage.setItem("passkey", then);
  location.replace(form.dataset.again);
}

if (usable) {
  for (const part of document.querySelectorAll("[data-passkeys]")) part.hidden = part.dataset.passkeys === "without";
}
if (usable && form) {
  const late = () => Date.now() > opened + life;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (late()) renew(form.dataset.passkey);
    else press();
  });
  // Whoever comes back to the page after a while finds it as if it were new, unless something is typed there.
  document.addEventListener("visibilitychange", () => {
    const typed = [...document.querySelectorAll("input:not([type=hidden])")].some((input) => input.value !== input.defaultValue);
    if (late() && document.visibilityState === "visible" && !typed) renew();
  });
  if (sessionStorage.getItem("passkey") === form.dataset.passkey) {
    sessionStorage.removeItem("passkey");
    press();
  } else {
    suggest();
  }
}
