/** Puts the page together: the description for the reference and the API's address, then the views. */

import { startAddView } from "./add-view.ts";
import { type Api, apiAddress } from "./api-request.ts";
import { createCatalogueView } from "./catalogue-view.ts";
import { byId, setText } from "./dom.ts";
import { parseExact } from "./exact-json.ts";
import { startKeyView } from "./key-view.ts";
import { createQuotaView } from "./quota-view.ts";
import type { Description } from "./reference.ts";
import { showReference } from "./reference-view.ts";
import { jsonLines, showExchange, startRequestsView } from "./requests-view.ts";
import { Session } from "./session.ts";

/** The description is part of the page: it is read without a key. */
async function loadDescription(): Promise<Api> {
  let server = "/v1"; // Where the API usually is.
  try {
    const signal = AbortSignal.timeout(10_000);
    const response = await fetch("openapi.json", { credentials: "omit", redirect: "error", signal });
    const text = await response.text();
    const description = parseExact(text) as Description; // The service makes it: it has these members.
    server = description.servers[0]?.url ?? server;
    showReference(description, apiAddress(document.baseURI, server));
    byId("openapi").append(...jsonLines(text));
  } catch {
    setText("reference-body", "openapi.json could not be read. Is the service running?");
  }
  return { address: apiAddress(document.baseURI, server), server };
}

document.onkeydown = ({ key, repeat }) => key !== "Enter" || !repeat; // A held Enter is one press.
const quotaView = createQuotaView();
const session = new Session(loadDescription(), (exchange) => {
  showExchange(exchange);
  if (exchange.code === "insufficient_scope") {
    byId("desk").dataset["readOnly"] = ""; // Nothing that this key may not do is offered again.
  }
  quotaView.show(exchange);
});
const catalogue = createCatalogueView(session);
startKeyView(session, quotaView, catalogue);
startAddView(session, catalogue);
startRequestsView(session);
