/**
 * Fastify 5 with the plugins its own organisation keeps: bearer keys, a limit a minute and a limit a day (the plugin
 * registered twice), schemas for what comes in and for what goes out.
 */
import bearerAuth from "@fastify/bearer-auth";
import rateLimit from "@fastify/rate-limit";
import Fastify from "fastify";
import { Animals, tagOf } from "./animals.js";
import { listQuery, newPet, pet, statusChange } from "./schemas.js";
import { animalsFile, dataFolder, dayMs, minuteMs, quotas, quotasByField, sayListening } from "./settings.js";

/** @param {{ groupCommit: boolean }} options */
export async function serve({ groupCommit }) {
  const animals = new Animals(dataFolder, animalsFile);

  const fastify = Fastify({ bodyLimit: 16_384, ajv: { customOptions: { removeAdditional: false } } });
  fastify.setErrorHandler((error, request, reply) => {
    const code = error.statusCode ?? 500;
    reply.code(code).send({ code: error.code ?? "error", message: error.message, status: code });
  });
  await fastify.register(bearerAuth, {
    keys: new Set(quotas.keys()),
    errorResponse: (error) => ({ code: "invalid_api_key", message: error.message, status: 401 }),
  });
  for (const timeWindow of [minuteMs, dayMs]) {
    await fastify.register(rateLimit, {
      timeWindow,
      max: (request) => quotasByField.get(request.headers.authorization) ?? 0,
      keyGenerator: (request) => request.headers.authorization,
    });
  }

  fastify.get(
    "/v1/pets",
    { schema: { querystring: listQuery, response: { 200: { type: "array", items: pet } } } },
    (request, reply) => {
      const page = animals.list(request.query);
      if (page.next !== undefined) reply.header("link", page.next);
      reply.send(page.animals);
    },
  );
  fastify.get("/v1/pets/:id", { schema: { response: { 200: pet } } }, (request, reply) => {
    const found = animals.get(request.params.id);
    if (found === undefined) reply.code(404).send({ code: "pet_not_found", message: "No such animal", status: 404 });
    else reply.send(found);
  });
  fastify.post("/v1/pets", { schema: { body: newPet, response: { 201: pet } } }, async (request, reply) => {
    const { authorization, "idempotency-key": sent } = request.headers;
    const token = sent === undefined ? undefined : `${authorization} ${sent}`;
    const created = groupCommit ? await animals.createInGroup(request.body, token) : animals.create(request.body);
    return reply.code(201).header("location", `/v1/pets/${created.id}`).send(created);
  });
  fastify.patch("/v1/pets/:id", { schema: { body: statusChange, response: { 200: pet } } }, async (request, reply) => {
    const { params: { id }, headers: { "if-match": ifMatch }, body: { status } } = request;
    const found = animals.get(id);
    if (found === undefined) return reply.code(404).send({ code: "pet_not_found", message: "No such animal", status: 404 });
    if (ifMatch === undefined) return reply.code(428).send({ code: "precondition_required", message: "No If-Match", status: 428 });
    const isChanged = groupCommit ? await animals.changeInGroup(found, status, ifMatch) : animals.change(found, status, ifMatch);
    if (isChanged) return reply.header("etag", tagOf(status)).send({ ...found, status });
    const refusal = { code: "precondition_failed", message: `The status is ${found.status}`, status: 412 };
    return reply.code(412).header("etag", tagOf(found.status)).send(refusal);
  });

  await fastify.listen({ host: "127.0.0.1", port: 0 });
  sayListening(fastify.server.address().port);
}
