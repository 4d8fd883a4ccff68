export default {
  input: "./generated/openapi.json",
  output: { path: "generated/hey-api", importFileExtension: ".js" },
  plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
  logs: { level: "warn", file: false },
};
