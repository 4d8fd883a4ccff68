/**
 * Adds an animal. Each carries an `Idempotency-Key` of its own, so that sending the same request again, after a
 * connection broke or the outcome stayed unknown, never adds it twice.
 */

import type { CatalogueView } from "./catalogue-view.ts";
import { type ApiRequest, writeFields } from "./api-request.ts";
import { byId, element, type Field, notify, shown } from "./dom.ts";
import { newPetJson, parseWholeNumber, type Pet } from "./exact-json.ts";
import { guard, onPress, onSubmit } from "./press.ts";
import { type Exchange, explain, type Session } from "./session.ts";

/** Errors that settle the outcome. After others, and without a response, sending the same request again is right. */
const settling = [400, 413, 415, 422];

export function startAddView(session: Session, catalogue: CatalogueView): void {
  let last: ApiRequest;

  function show(exchange: Exchange): void {
    const { request, response } = exchange;
    const pet = exchange.body as Partial<Pet>; // A proxy's own page has no member of it.
    const isAdded = response?.status === 201 && pet.id !== undefined;
    last = request;
    byId("send-again").hidden = isAdded || settling.includes(response?.status ?? 0);
    if (!isAdded) {
      notify("add-notice", "bad", ...explain(exchange));
      return;
    }
    const isReplay = response.headers.has("Idempotent-Replayed");
    const text = `Animal ${pet.id} ${isReplay ? "was added before" : "is added"}: `;
    const isShown = catalogue.add(pet as Pet); // What a 201 promises.
    const rest = isShown ? [] : [" ", showButton(pet as Pet)];
    notify("add-notice", "good", text, element("bdi", ...shown(pet.name)), ...rest);
    if (request.content === typedJson()) { // Not what is typed meanwhile.
      byId<HTMLFormElement>("add-form").reset();
    }
  }

  function showButton(pet: Pet): HTMLElement {
    const button = element("button.small.sends", "Show it");
    guard(button, () => catalogue.open(pet));
    return button;
  }

  onSubmit("add-form", async () => {
    const category = byId<Field>("category");
    const content = typedJson();
    category.ariaInvalid = String(content === undefined);
    if (content === undefined) {
      notify("add-notice", "bad", "The category is a whole number, such as 7.");
      category.focus();
      return;
    }
    show(await session.request("/pets", { method: "POST", fields: writeFields(), content }));
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
  const categoryId = parseWholeNumber(byId<Field>("category").value);
  return categoryId && newPetJson({ name: byId<Field>("name").value, categoryId, status: byId<Field>("status").value });
}
