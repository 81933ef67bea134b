// The page "Try it": calls the API as any program would, and shows each request with its answer.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const { modules, scope, texts } = read("try-it-setup");
  const run = document.getElementById("try-it-run");
  if (!run) return;
  const chosen = document.getElementById("try-it-module");
  const secret = document.getElementById("try-it-secret");
  const text = document.getElementById("try-it-document");
  const remove = document.getElementById("try-it-remove");
  const state = document.getElementById("try-it-state");
  const steps = document.getElementById("try-it-steps");

  text.value = JSON.stringify(read("try-it-example"), null, 2);
  const fillSecret = () => { secret.value = modules[chosen.value].secret; };
  chosen.addEventListener("change", fillSecret);
  const demo = modules.findIndex((module) => module.secret);
  if (demo >= 0) chosen.value = demo;
  fillSecret();

  // The id of a shell in an address: base64url of its UTF-8.
  const encode = (id) => btoa(String.fromCharCode(...new TextEncoder().encode(id))).replace(/\+/g, "-").replace(/\//g, "_");
  const quoted = (value) => `'${value.replaceAll("'", "'\\''")}'`;

  function element(name, className, content) {
    const made = document.createElement(name);
    if (className) made.className = className;
    made.textContent = content ?? "";
    return made;
  }

  function folded(title, content, open) {
    const details = document.createElement("details");
    details.open = open;
    details.append(element("summary", "", title), element("pre", "reg-code", content));
    return details;
  }

  function curl(method, address, headers, body) {
    const parts = [`curl -i -X ${method} ${quoted(address)}`];
    for (const [name, value] of Object.entries(headers)) {
      parts.push(name === "Authorization" ? '-H "Authorization: Bearer $TOKEN"' : `-H ${quoted(`${name}: ${value}`)}`);
    }
    if (body instanceof URLSearchParams) {
      for (const [name, value] of body) {
        parts.push(name === "client_secret" ? '-d client_secret="$CLIENT_SECRET"' : `--data-urlencode ${quoted(`${name}=${value}`)}`);
      }
    } else if (body !== undefined) parts.push(`-d ${quoted(body)}`);
    return parts.join(" \\\n  ");
  }

  function pretty(body) {
    try {
      return JSON.stringify(JSON.parse(body), null, 2);
    } catch {
      return body;
    }
  }

  // One request and its answer, shown. Returns the answer's status and body.
  async function call(title, method, path, headers, body) {
    const address = new URL(path, window.location.origin).href;
    const step = element("section", "reg-step");
    const heading = element("h3", "", `${title}: ${method} ${path}`);
    step.append(heading);
    steps.append(step);
    const started = performance.now();
    const response = await fetch(address, { method, headers, body, credentials: "omit", cache: "no-store" });
    const content = await response.text();
    const took = Math.round(performance.now() - started);
    const good = response.ok;
    heading.append(element("span", good ? "reg-good" : "reg-bad", `${response.status} ${response.statusText} (${took} ms)`));
    const received = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    step.append(
      folded(texts.curl, curl(method, address, headers, body), false),
      folded(texts.answer, content ? `${received}\n\n${pretty(content)}` : received, !good || method === "GET"),
    );
    return { good, content };
  }

  async function tryIt() {
    steps.replaceChildren();
    let shell;
    try {
      shell = JSON.parse(text.value);
    } catch { /* said below */ }
    if (!shell || typeof shell.id !== "string") throw new Error(texts.no_document);
    const module = modules[chosen.value];
    const form = new URLSearchParams({
      grant_type: "client_credentials", client_id: module.clientId, client_secret: secret.value, scope,
    });
    const token = await call(texts.token, "POST", module.token, {}, form);
    if (!token.good) return false;
    const bearer = { Authorization: `Bearer ${JSON.parse(token.content).access_token}` };
    const json = { ...bearer, "Content-Type": "application/json" };
    const address = `${module.api}/shell-descriptors/${encode(shell.id)}`;
    const registered = await call(texts.register, "POST", `${module.api}/shell-descriptors`, json, text.value);
    if (!registered.good) return false; // what others registered is not ours to remove
    let good = (await call(texts.fetch, "GET", address, bearer)).good;
    const link = shell.specificAssetIds?.[0]
      ? { name: shell.specificAssetIds[0].name, value: shell.specificAssetIds[0].value }
      : shell.globalAssetId && { name: "globalAssetId", value: shell.globalAssetId };
    if (link) {
      const found = await call(
        texts.search, "POST", `${module.api}/lookup/shellsByAssetLink`, json, JSON.stringify([link]),
      );
      good = found.good && good;
    } else steps.append(element("p", "reg-note", texts.no_asset_id));
    if (remove.checked) good = (await call(texts.remove, "DELETE", address, bearer)).good && good;
    return good;
  }

  run.addEventListener("click", async () => {
    run.disabled = true;
    state.className = "";
    state.textContent = texts.running;
    try {
      const good = await tryIt();
      state.textContent = good ? texts.done : texts.failed;
      state.className = good ? "reg-good" : "reg-bad";
    } catch (error) {
      state.textContent = error instanceof TypeError ? `${texts.no_answer} ${error.message}` : error.message;
      state.className = "reg-bad";
    } finally {
      run.disabled = false;
    }
  });
});
