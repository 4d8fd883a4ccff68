/** Fastify 5 with group commit: what W4 costs when the store does as the service does. */
import { serve } from "./fastify-app.js";

await serve({ groupCommit: true });
