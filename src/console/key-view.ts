/** Takes the key, asks once for its quota and the first animals, and forgets it on demand. */

import type { CatalogueView } from "./catalogue-view.ts";
import { byId, type Child, type Field, notify, setText } from "./dom.ts";
import { onPress, onSubmit, showRests } from "./press.ts";
import type { Limits } from "./quota.ts";
import type { QuotaView } from "./quota-view.ts";
import { type Exchange, explain, isUnknownKey, type Session } from "./session.ts";

export function startKeyView(session: Session, quotaView: QuotaView, catalogue: CatalogueView): void {
  const input = byId<Field>("key");

  /** The key is not used, and stays in its field, where the person can correct it. */
  function refuse(...reason: readonly Child[]): void {
    session.key = "";
    notify("key-reason", "bad", ...reason);
    input.ariaInvalid = "true";
    input.select();
  }

  function forget(): void {
    session.key = "";
    showKey("");
    quotaView.forget();
    catalogue.forget();
    delete byId("desk").dataset["readOnly"];
    notify("add-notice", "");
    byId("send-again").hidden = true; // With another key the same request would add a second animal.
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
    if (!isKeyTaken(exchange)) {
      refuse(...explain(exchange));
      return;
    }
    showKey(key);
    showPlan(exchange);
    if (exchange.response?.ok) {
      await catalogue.list();
    }
  });
  onPress("refresh", async () => {
    const exchange = await session.request("/limits");
    if (isUnknownKey(exchange)) {
      forget();
      refuse(...explain(exchange));
    } else {
      showPlan(exchange);
    }
  });
  onPress("forget", () => {
    forget();
    notify("key-reason", "good", "Forgotten.");
  });
  showRests();
}

/** Whether the service has judged the key, and not refused it. A proxy's own page has neither plan nor code. */
function isKeyTaken(exchange: Exchange): boolean {
  const { plan } = exchange.body as Partial<Limits>;
  const isJudged = plan !== undefined || exchange.code !== "";
  return exchange.response !== undefined && isJudged && !isUnknownKey(exchange);
}

function showPlan(exchange: Exchange): void {
  const { plan } = exchange.body as Partial<Limits>;
  if (plan === undefined) {
    notify("key-notice", "bad", ...explain(exchange));
  } else {
    setText("plan", `${plan} plan`);
    notify("key-notice", "");
  }
}

/** Shows the key in the bar, or the form that asks for one. If the focus is on what goes, it moves to what comes. */
function showKey(key: string): void {
  const hasKey = key !== "";
  const isFocused = byId(hasKey ? "access" : "key-in-use").contains(document.activeElement);
  byId("access").hidden = hasKey;
  byId("key-in-use").hidden = !hasKey;
  showRests();
  byId<Field>("key").value = ""; // From here on it is in memory alone.
  byId<Field>("key").ariaInvalid = "false";
  setText("key-begin", `${key.slice(0, 7)}…`);
  setText("plan", "");
  notify("key-notice", "");
  notify("key-reason", "");
  if (isFocused) {
    byId(hasKey ? "list" : "key").focus();
  }
}
