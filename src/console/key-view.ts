/**
 * Takes the key, asks once for its quota and the first animals, and forgets it on demand. If the person asks for it,
 * the key is kept in the tab: then a reload enters it again.
 */

import type { CatalogueView } from "./catalogue-view.ts";
import { byId, type Child, type Field, notify, setText } from "./dom.ts";
import { onPress, onSubmit, showRests } from "./press.ts";
import { isLimits } from "./quota.ts";
import type { QuotaView } from "./quota-view.ts";
import { type Exchange, explain, isUnknownKey, type Session } from "./session.ts";
import { keep, kept } from "./tab.ts";

export function startKeyView(session: Session, quotaView: QuotaView, catalogue: CatalogueView): void {
  const form = byId<HTMLFormElement>("key-form");
  const input = byId<Field>("key");
  const see = byId<Field>("see");
  const stay = byId<Field>("keep");

  /** The key is not used, and stays in its field, where the person can correct it. */
  function refuse(...reason: readonly Child[]): void {
    session.key = "";
    notify("key-reason", "bad", ...reason);
    input.ariaInvalid = "true";
    input.select();
  }

  function forget(): void {
    session.key = "";
    keep("key", "");
    showKey("");
    quotaView.forget();
    catalogue.forget();
    byId("requests").replaceChildren();
    byId("desk").toggleAttribute("data-read-only", false);
  }

  onSubmit("key-form", async () => {
    // A pasted line may hold more than the key.
    const key = /as_[0-9A-Za-z]{43}(?![0-9A-Za-z])/.exec(input.value)?.[0];
    if (key === undefined) {
      refuse("This is no key: a key is as_ and 43 letters and digits.");
      return;
    }
    session.key = key;
    const exchange = await session.request("/limits");
    keep("key", stay.checked && !isUnknownKey(exchange) ? key : "");
    if (!isKeyTaken(exchange)) {
      refuse(...explain(exchange));
      return;
    }
    showKey(key);
    if (showPlan(exchange, "list-notice")) {
      await catalogue.list();
    }
  });
  onPress("refresh", async () => {
    const exchange = await session.request("/limits");
    if (isUnknownKey(exchange)) {
      forget();
      refuse(...explain(exchange));
    } else {
      showPlan(exchange, "key-notice");
    }
  });
  onPress("forget", () => {
    forget();
    notify("key-reason", "good", "Forgotten.");
  });
  see.onchange = () => (input.type = see.checked ? "text" : "password");
  showRests();
  input.value = kept("key");
  if (input.value !== "") {
    stay.checked = true;
    form.requestSubmit();
  }
}

/** Whether the service has judged the key and not refused it, or cannot judge any. */
function isKeyTaken(exchange: Exchange): boolean {
  const { response, body, code } = exchange;
  const isJudged = isLimits(body) || code !== "" || (response?.status ?? 0) >= 500;
  return response !== undefined && isJudged && !isUnknownKey(exchange);
}

/** Returns whether the response tells what the key may do. If not, the notice says why. */
function showPlan(exchange: Exchange, notice: string): boolean {
  const { response, body } = exchange;
  if (!response?.ok || !isLimits(body)) {
    notify(notice, "bad", ...explain(exchange));
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
  showRests();
  byId<HTMLFormElement>("key-form").reset(); // From here on the key is in memory alone, or in the tab.
  byId<Field>("key").type = "password";
  byId<Field>("key").ariaInvalid = "false";
  setText("key-begin", `${key.slice(0, 7)}…`);
  setText("plan", "");
  if (isFocused) {
    byId(hasKey ? "list" : "key").focus();
  }
}
