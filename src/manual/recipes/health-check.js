/**
 * The health check of the Dockerfile: asks the service of this container, by the variables that the service has. The
 * name in a certificate is the public one, so it is not compared. Without an agent, no variable sends it to a proxy.
 */

import * as http from "node:http";
import * as https from "node:https";

const { PORT, ANIMAL_STORE_HOST: bound, ANIMAL_STORE_TLS_CERT: certificate } = process.env;
const host = !bound || bound === "::" || bound === "0.0.0.0" ? "127.0.0.1" : bound;
const { get } = certificate ? https : http;
const options = { host, port: PORT || 3000, path: "/healthz", rejectUnauthorized: false, agent: false };
get(options, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1);
}).on("error", () => process.exit(1));
