/**
 * Takes the key, asks once for its quota and the first animals, and forgets it on demand. If the person wants, it is
 * stored in the tab: then a reload enters it again.
 */

import { onPress, onSubmit, showCooldown } from "./buttons.ts";
import type { CatalogueView } from "./catalogue-view.ts";
import { byId, type Field, notify, setText } from "./dom.ts";
import type { QuotaView } from "./quota-view.ts";
import { isLimits } from "./quota.ts";
import { store, stored } from "./session-storage.ts";
import { type ApiCall, explain, isUnknownKey, type Session } from "./session.ts";

/** @returns a function to call after each call: if the key has become invalid, the form asks for another one */
export function startKeyView(
  session: Session,
  quotaView: QuotaView,
  catalogue: CatalogueView,
): (call: ApiCall) => void {
  const form = byId<HTMLFormElement>("key-form");
  const input = byId<Field>("key");
  const see = byId<Field>("see");
  const stay = byId<Field>("keep");

  /** The key is not used, and stays in its field, where the person can correct it. */
  function refuse(): void {
    session.key = "";
    catalogue.forget(); // A stored key had its filter and page size.
    input.ariaInvalid = "true";
    input.select();
  }

  function forget(): void {
    session.key = "";
    store("key", "");
    showKey("");
    quotaView.forget();
    catalogue.forget();
      byId("desk").toggleAttribute("data-read-only", false);
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
    store("key", stay.checked && !isUnknownKey(call) ? key : "");
    if (!isKeyTaken(call)) {
      refuse();
      explain(call);
      return;
    }
    showKey(key);
    if (showPlan(call)) {
      await catalogue.list();
    }
  });
  onPress("refresh", async () => {
    if (showPlan(await session.request("/limits"))) {
      await catalogue.listAgain();
    }
  });
  onPress("forget", () => {
    forget();
    notify("good", "Forgotten.");
  });
  see.onchange = () => (input.type = see.checked ? "text" : "password");
  showCooldown();
  input.value = stored("key");
  if (input.value !== "") {
    stay.checked = true;
    form.requestSubmit();
  }
  return (call) => {
    if (isUnknownKey(call) && byId("access").hidden) {
      forget();
      refuse();
    }
  };
}

/** Whether the service has judged the key and not refused it, or cannot judge any. */
function isKeyTaken(call: ApiCall): boolean {
  const { response, body, code } = call;
  const isJudged = isLimits(body) || code !== "" || (response?.status ?? 0) >= 500;
  return response !== undefined && isJudged && !isUnknownKey(call);
}

/** Returns whether the response tells what the key may do. If not, the notice says why. */
function showPlan(call: ApiCall): boolean {
  const { response, body } = call;
  if (!response?.ok || !isLimits(body)) {
    explain(call);
    return false;
  }
  setText("plan", `${body.plan} plan`);
  byId("desk").toggleAttribute("data-read-only", body.readOnly);
  return true;
}

/** Shows the key in the bar, or the form that asks for one. If the focus is on what goes, it moves to what comes. */
function showKey(key: string): void {
  const hasKey = key !== "";
  const isFocused = byId(hasKey ? "access" : "key-in-use").contains(document.activeElement);
  byId("access").hidden = hasKey;
  byId("key-in-use").hidden = !hasKey;
  showCooldown();
  byId<HTMLFormElement>("key-form").reset(); // From here on the key is in memory alone, or in the tab.
  byId<Field>("key").type = "password";
  byId<Field>("key").ariaInvalid = "false";
  setText("key-begin", `${key.slice(0, 7)}…`);
  setText("plan", "");
  if (isFocused) {
    byId(hasKey ? "list" : "key").focus();
  }
}
