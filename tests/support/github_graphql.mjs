// Executes a query by GitHub's own schema (npm package @octokit/graphql-schema) over several sets of files; standard
// input to output.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const { modules, query, variables, cases } = JSON.parse(readFileSync(0, "utf8"));
const { buildSchema, graphqlSync } = createRequire(`${modules}/`)("graphql");
const schema = buildSchema(readFileSync(`${modules}/@octokit/graphql-schema/schema.graphql`, "utf8"), { assumeValidSDL: true });

function object({ files, links }, place) {
  if (place in files) {
    const text = links.includes(place) ? "../elsewhere.yml" : files[place];
    const isTruncated = text.length > 512000;
    return { __typename: "Blob", text: text.includes("\0") ? null : text.slice(0, 512000), isTruncated };
  }
  const begin = place.endsWith("/") ? place : `${place}/`;
  const names = new Set();
  for (const file of Object.keys(files)) if (file.startsWith(begin)) names.add(file.slice(begin.length).split("/")[0]);
  const entries = [...names].sort().map((name) => {
    const path = begin + name;
    const mode = links.includes(path) ? 0o120000 : path in files ? 0o100644 : 0o040000;
    return { name, mode, object: () => object({ files, links }, path) };
  });
  return entries.length ? { __typename: "Tree", entries } : null;
}

const done = cases.map((one) => {
  const repository = ({ owner, name }) =>
    Object.keys(one.files).some((file) => file.startsWith(`${owner}/${name}/`))
      ? { object: ({ expression }) => object(one, `${owner}/${name}/${expression.slice("HEAD:".length)}`) }
      : null;
  return graphqlSync({ schema, source: query, rootValue: { repository }, variableValues: variables });
});
process.stdout.write(JSON.stringify(done));
