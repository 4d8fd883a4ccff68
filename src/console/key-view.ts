/**
 * Takes the key, asks once for what it may do and the first animals, and forgets it on demand. If the person wants, it
 * is stored in the tab: then a reload enters it again.
 */

import { onPress, onSubmit } from "./buttons.ts";
import type { CatalogueView } from "./catalogue-view.ts";
import { byId, type Field, notify } from "./dom.ts";
import { hideQuota } from "./quota-view.ts";
import { store, stored } from "./session-storage.ts";
import { type ApiCall, explain, isUnknownKey, type Session } from "./session.ts";

/** @returns a function to call after each call: if the key has become invalid, the form asks for another one */
export function startKeyView(session: Session, catalogue: CatalogueView): (call: ApiCall) => void {
  const [desk, form] = [byId("desk"), byId<HTMLFormElement>("key-form")];
  const [input, see, keep] = [byId<Field>("key"), byId<Field>("see"), byId<Field>("keep")];

  /** The key is not used, and stays in its field, where the person can correct it. */
  function refuse(): void {
    session.key = "";
    input.ariaInvalid = "true";
    input.select();
  }

  /** Shows the animals, or the form that asks for a key. From here on the key is in memory alone, or in the tab. */
  function show(hasKey: boolean): void {
    document.querySelectorAll("dialog").forEach((dialog) => dialog.close());
    byId("access").hidden = hasKey;
    desk.hidden = !hasKey;
    form.reset();
    input.type = "password";
    input.ariaInvalid = "false";
    const isPhone = matchMedia("(pointer: coarse)").matches; // Its keyboard would cover the animals.
    byId(!hasKey ? "key" : isPhone ? "refresh" : "wanted").focus();
  }

  function forget(): void {
    session.key = "";
    store("key", "");
    store("filter", "");
    hideQuota();
    catalogue.forget();
    desk.toggleAttribute("data-read-only", false);
    show(false);
  }

  onSubmit("key-form", async () => {
    // A pasted line may hold more than the key.
    const key = /as_[0-9A-Za-z]{43}(?![0-9A-Za-z])/.exec(input.value)?.[0];
    if (key === undefined) {
      refuse();
      notify("bad", "This is not a key: keys are as_ followed by 43 letters and digits.");
      return;
    }
    session.key = key;
    const call = await session.request("/limits");
    const isReadOnly = readOnlyOf(call);
    store("key", keep.checked && !isUnknownKey(call) ? key : "");
    if (isReadOnly !== undefined) {
      show(true);
      desk.toggleAttribute("data-read-only", isReadOnly);
      await catalogue.start();
    } else {
      // Only the service judges a key, and it may be unable to; anything else may come from a proxy.
      const isJudged = call.response !== undefined && (call.code !== "" || call.response.status >= 500);
      if (isJudged && !isUnknownKey(call)) {
        show(true);
      } else {
        refuse();
      }
      explain(call);
    }
  });
  onPress(byId("forget"), () => {
    forget();
    notify("good", "Forgotten.");
  });
  see.onchange = () => (input.type = see.checked ? "text" : "password");
  input.value = stored("key");
  if (input.value !== "") {
    keep.checked = true;
    form.requestSubmit();
  }
  return (call) => {
    if (call.code === "insufficient_scope") {
      desk.toggleAttribute("data-read-only", true); // GET /limits may have failed to say so.
    } else if (isUnknownKey(call) && byId("access").hidden) {
      forget();
      refuse();
    }
  };
}

/** What `GET /limits` says of the key; undefined if the response is no such one. */
function readOnlyOf({ response, body }: ApiCall): boolean | undefined {
  const { readOnly } = body as { readonly readOnly?: unknown };
  return response?.ok && typeof readOnly === "boolean" ? readOnly : undefined;
}
