import { fileURLToPath } from "node:url";

const above = import.meta.url.endsWith(".ts") ? "../.." : "../../..";

/** The project's folder. Tests run compiled, from build/test, or from source. */
export const root: string = fileURLToPath(new URL(above, import.meta.url));
