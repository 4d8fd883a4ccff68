/**
 * Adds an animal. Each carries an `Idempotency-Key` of its own, so that sending the same request again, after a
 * connection broke or the outcome stayed unknown, never adds it twice.
 */

import type { ApiRequest } from "./curl.ts";
import { byId, element, notify, onPress, onSubmit, shown } from "./dom.ts";
import { newPetJson, parseWholeNumber, type Pet } from "./exact-json.ts";
import { isKeyMissing } from "./key-view.ts";
import { type Exchange, explain, type Session } from "./session.ts";

/** Errors that settle the outcome. After others, and without a response, sending the same request again is right. */
const settling = [400, 413, 415, 422];

export function startAddView(session: Session): void {
  let last: ApiRequest;

  function show(exchange: Exchange): void {
    const { request, response } = exchange;
    const { id, name } = exchange.body as Partial<Pet>; // A proxy's own page has neither.
    const isAdded = response?.status === 201 && id !== undefined;
    last = request;
    byId("send-again").hidden = isAdded || settling.includes(response?.status ?? 0);
    if (!isAdded) {
      notify("add-notice", "bad", ...explain(exchange));
      return;
    }
    const isReplay = response.headers.has("Idempotent-Replayed");
    const text = `Animal ${id} ${isReplay ? "was added before" : "is added"}: `;
    notify("add-notice", "good", text, element("bdi", ...shown(name)));
    if (request.content === typedJson()) { // Not what is typed meanwhile.
      byId("name").value = "";
      byId("category").value = "";
    }
  }

  onSubmit("add-form", async () => {
    const category = byId("category");
    const content = typedJson();
    category.ariaInvalid = String(content === undefined);
    if (isKeyMissing(session)) {
      return;
    }
    if (content === undefined) {
      notify("add-notice", "bad", "The category is a whole number, such as 7.");
      category.focus();
      return;
    }
    const fields = { "Content-Type": "application/json", "Idempotency-Key": `"${randomName()}"` };
    show(await session.request("/pets", { fields, content }));
  });
  onPress("send-again", async () => {
    const exchange = await session.send(last);
    const isFocused = document.activeElement === byId("send-again");
    show(exchange);
    if (isFocused && byId("send-again").hidden) {
      byId("add").focus(); // The pressed button is hidden now, and lost the focus.
    }
  });
}

/** The animal in the fields; undefined if its category is no whole number. */
function typedJson(): string | undefined {
  const categoryId = parseWholeNumber(byId("category").value);
  return categoryId && newPetJson({ name: byId("name").value, categoryId, status: byId("status").value });
}

/** `randomUUID` is there only on secure pages. */
function randomName(): string {
  return isSecureContext ? crypto.randomUUID() : crypto.getRandomValues(new Uint32Array(4)).join("-");
}
