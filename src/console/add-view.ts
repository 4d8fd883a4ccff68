/**
 * Adds an animal. Each carries an `Idempotency-Key` of its own, so that sending the same request again, after a
 * connection broke or the outcome stayed unknown, never adds it twice.
 */

import { onClick, onSubmit } from "./buttons.ts";
import { type CallRequest, writeFields } from "./call-request.ts";
import type { CatalogueView } from "./catalogue-view.ts";
import { byId, element, type Field, notify } from "./dom.ts";
import { isPet, newPetJson, parseWholeNumber, type Pet } from "./exact-json.ts";
import { nameOf } from "./pet-table.ts";
import { type ApiCall, explain, type Session } from "./session.ts";

export function startAddView(session: Session, catalogue: CatalogueView): void {
  /** The request that failed, or whose response was lost: with the same content it goes out once more. */
  let failed: CallRequest | undefined;

  function show(call: ApiCall): void {
    const { request, response, body } = call;
    const { activeElement } = document;
    const isAdded = response?.status === 201 && isPet(body);
    failed = isAdded ? undefined : request;
    if (!isAdded) {
      explain(call);
      return;
    }
    const isReplay = response.headers.has("Idempotent-Replayed");
    const text = `Animal ${body.id} ${isReplay ? "was added before" : "is added"}: `;
    const isShown = catalogue.add(body, isReplay);
    notify("good", text, nameOf(body), ...(isShown ? [] : [" ", showButton(body)]));
    const isTyped = request.content === typedJson(); // Or the next one is typed meanwhile.
    if (isTyped) {
      byId<Field>("name").value = "";
      byId<Field>("status").value = "available";
    }
    if (activeElement?.matches(isTyped ? "#add-form *" : "#add-form button")) {
      byId("name").focus(); // Of ten puppies only the names differ.
    }
  }

  function showButton({ id }: Pet): HTMLElement {
    const button = element("button.small.sends", "Show it");
    onClick(button, () => catalogue.find(id));
    return button;
  }

  onSubmit("add-form", async () => {
    const category = byId<Field>("category");
    const content = typedJson();
    category.ariaInvalid = String(content === undefined);
    if (content === undefined) {
      notify("bad", "The category is a whole number, such as 7.");
      category.focus();
      return;
    }
    show(await (failed?.content === content
      ? session.send(failed)
      : session.request("/pets", { method: "POST", fields: writeFields(), content })));
  });
}

/** The animal in the fields; undefined if its category is no whole number. */
function typedJson(): string | undefined {
  const categoryId = parseWholeNumber(byId<Field>("category").value);
  return categoryId && newPetJson({ name: byId<Field>("name").value, categoryId, status: byId<Field>("status").value });
}
