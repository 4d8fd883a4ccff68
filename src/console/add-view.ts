/**
 * Adds an animal. Each carries an `Idempotency-Key` of its own, so that sending the same request again, after a
 * connection broke or the outcome stayed unknown, never adds it twice.
 */

import { onSubmit, sendButton } from "./buttons.ts";
import { type CallRequest, writeRequest } from "./call-request.ts";
import type { CatalogueView } from "./catalogue-view.ts";
import { byId, type Field, memberFields, notify } from "./dom.ts";
import { isInt64, isPet, parseWholeNumber } from "./exact-json.ts";
import { sentence } from "./pet-table.ts";
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
    const show = catalogue.add(body, isReplay) ? "" : sendButton(() => catalogue.find(body.id), "Show it");
    notify("good", ...sentence(body, isReplay ? "was added before" : "is added"), " ", show);
    const isTyped = request.content === typedJson(); // Else the next one is being typed.
    if (isTyped) {
      byId<Field>("name").value = "";
      byId<Field>("status").value = "available";
    }
    if (activeElement?.matches(isTyped ? "#add-form *" : "#add-form button")) {
      byId("name").focus(); // Ten puppies differ in name alone.
    }
  }

  onSubmit("add-form", async () => {
    const wrong = givenFields().find((field) => jsonOf(field) === undefined);
    memberFields().forEach((field) => (field.ariaInvalid = String(field === wrong)));
    if (wrong !== undefined) {
      notify("bad", `The ${wrong.id} is a whole number, such as 7, and not beyond 9223372036854775807.`);
      wrong.focus();
      return;
    }
    const content = typedJson();
    show(await session.request("/pets", failed?.content === content ? failed : writeRequest("POST", content)));
  });
}

/** The fields to send: all but empty ones that an animal may lack. */
function givenFields(): readonly Field[] {
  return memberFields().filter(({ required, value }) => required || value !== "");
}

/** A field's value as JSON, a number with all its digits. Undefined if a whole number is wrong. */
function jsonOf({ className, value }: Field): string | undefined {
  const digits = parseWholeNumber(value);
  return className !== "number" ? JSON.stringify(value) : digits && isInt64(digits) ? digits : undefined;
}

/** The animal in the fields. */
function typedJson(): string {
  const members = [...givenFields(), byId<Field>("status")];
  return `{${members.map((field) => `"${field.name}":${jsonOf(field)}`).join()}}`;
}
