/** Fastify 5, one insert a commit. */
import { serve } from "./fastify-app.js";

await serve({ groupCommit: false });
