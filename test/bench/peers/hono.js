/**
 * Hono on Node with hono-rate-limiter, once for the minute and once for the day.
 *
 * In its favour: keys are looked up in a Map (a list of tokens would be hashed for each request), and bodies are
 * checked by hand.
 */
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { rateLimiter } from "hono-rate-limiter";
import { bearerAuth } from "hono/bearer-auth";
import { validator } from "hono/validator";
import { Animals } from "./animals.js";
import { animalsFile, dataFolder, dayMs, minuteMs, quotas, quotasByField, sayListening } from "./settings.js";

const animals = new Animals(dataFolder, animalsFile);

const statuses = new Set(["available", "pending", "sold"]);
const app = new Hono();

app.use(bearerAuth({ verifyToken: (token) => quotas.has(token) }));
for (const windowMs of [minuteMs, dayMs]) {
  app.use(
    rateLimiter({
      windowMs,
      limit: (context) => quotasByField.get(context.req.header("authorization")),
      keyGenerator: (context) => context.req.header("authorization"),
      message: { code: "rate_limited", message: "The rate limit is used up", status: 429 },
    }),
  );
}

app.get("/v1/pets", (context) => {
  const { limit = 20, after = 0, status } = context.req.query();
  const query = { limit: Number(limit), after: Number(after), status };
  const isPage = query.limit >= 1 && query.limit <= 100 && query.after >= 0;
  if (!isPage || (status !== undefined && !statuses.has(status))) {
    return sendError(context, 400, "invalid_parameter");
  }
  const page = animals.list(query);
  if (page.next !== undefined) context.header("Link", page.next);
  return context.json(page.animals);
});

app.get("/v1/pets/:id", (context) => {
  const found = animals.get(context.req.param("id"));
  return found === undefined ? sendError(context, 404, "pet_not_found") : context.json(found);
});

app.post("/v1/pets", validator("json", validNewPet), (context) => {
  const created = animals.create(context.req.valid("json"));
  return context.json(created, 201, { Location: `/v1/pets/${created.id}` });
});

function validNewPet({ name, categoryId, status, ...unknown }, context) {
  const isValid =
    typeof name === "string" &&
    name.length >= 1 &&
    name.length <= 255 &&
    Number.isSafeInteger(categoryId) &&
    (status === undefined || statuses.has(status)) &&
    Object.keys(unknown).length === 0;
  return isValid ? { name, categoryId, status } : sendError(context, 400, "invalid_body");
}

function sendError(context, status, code) {
  return context.json({ code, message: code, status }, status);
}

serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) => sayListening(port));
