/**
 * Express 5 with express-rate-limit, once for the minute and once for the day.
 *
 * In its favour: keys are looked up in a Map, bodies are checked by hand, and no ETag is computed.
 */
import express from "express";
import { rateLimit } from "express-rate-limit";
import { Animals } from "./animals.js";
import { animalsFile, dataFolder, dayMs, minuteMs, quotasByField, sayListening } from "./settings.js";

const animals = new Animals(dataFolder, animalsFile);

const statuses = new Set(["available", "pending", "sold"]);
const app = express();
app.disable("x-powered-by");
app.disable("etag");

app.use((request, response, next) => {
  if (quotasByField.has(request.get("authorization"))) next();
  else sendError(response, 401, "invalid_api_key");
});
for (const windowMs of [minuteMs, dayMs]) {
  app.use(
    rateLimit({
      windowMs,
      limit: (request) => quotasByField.get(request.get("authorization")),
      keyGenerator: (request) => request.get("authorization"),
      legacyHeaders: true,
      standardHeaders: false,
      handler: (request, response) => sendError(response, 429, "rate_limited"),
    }),
  );
}

app.get("/v1/pets", (request, response) => {
  const { limit = 20, after = 0, status } = request.query;
  const query = { limit: Number(limit), after: Number(after), status };
  const isPage = query.limit >= 1 && query.limit <= 100 && query.after >= 0;
  if (!isPage || (status !== undefined && !statuses.has(status))) {
    return sendError(response, 400, "invalid_parameter");
  }
  const page = animals.list(query);
  if (page.next !== undefined) response.set("Link", page.next);
  response.json(page.animals);
});

app.get("/v1/pets/:id", (request, response) => {
  const found = animals.get(request.params.id);
  if (found === undefined) sendError(response, 404, "pet_not_found");
  else response.json(found);
});

app.post("/v1/pets", express.json({ limit: 16_384 }), (request, response) => {
  const { name, categoryId, status, ...unknown } = request.body ?? {};
  const isValid =
    typeof name === "string" &&
    name.length >= 1 &&
    name.length <= 255 &&
    Number.isSafeInteger(categoryId) &&
    (status === undefined || statuses.has(status)) &&
    Object.keys(unknown).length === 0;
  if (!isValid) return sendError(response, 400, "invalid_body");
  const created = animals.create({ name, categoryId, status });
  response.status(201).location(`/v1/pets/${created.id}`).json(created);
});

function sendError(response, status, code) {
  response.status(status).json({ code, message: code, status });
}

const server = app.listen(0, "127.0.0.1", () => sayListening(server.address().port));
