/**
 * The tables in the SQL of a store that belong to another capability. Reads quoted text only, and
 * comments do not count; names of common table expressions, functions and the words of
 * `for update`, `do update set`, `rows from` and `is distinct from` are no tables.
 */
export function foreignTables(source: string, capability: string): string[] {
  const own = new RegExp(`^${capability}_`)
  const texts = quotedTexts(source)
  // A statement may be put together from several texts.
  const expressions = new Set(texts.flatMap(expressionsOf))
  const tables = new Set(texts.flatMap(tablesOf))
  return [...tables].filter((table) => !own.test(table) && !expressions.has(table))
}

function quotedTexts(source: string): string[] {
  const code = source
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*(import|export) .* from '.*'$/gm, '')
  const inserts = [...code.matchAll(/\binto:\s*'([a-z_]+)'/g)].map((m) => `insert into ${m[1]}`)
  const texts = [...code.matchAll(/`([^`]*)`|'([^'\n]*)'/g)]
    .map((match) => match[1] ?? match[2] ?? '')
    .filter((text) => /\b(select|insert|update|delete)\b/.test(text))
  return [...texts, ...inserts]
}

function expressionsOf(sql: string): string[] {
  return [
    ...sql.matchAll(/\b([a-z_]+)(?:\s*\([^()]*\))?\s+as\s+(?:(?:not\s+)?materialized\s+)?\(/g),
  ].map((match) => match[1] ?? '')
}

function tablesOf(sql: string): string[] {
  const statements = sql
    .replace(/--.*$/gm, '')
    .replace(/\bdistinct\s+from\b/g, '')
    .replace(/\b(extract|substring|trim|overlay)\s*\([^()]*\bfrom\b/g, '')
    .replace(/\bfor\s+(no\s+key\s+)?update\b/g, '')
    .replace(/\bdo\s+update\b/g, '')
    .replace(/\brows\s+from\s*\(/g, '(')
  return [
    ...statements.matchAll(
      /\b(?:from|join|into|update|using|truncate)\s+(?:only\s+|lateral\s+)?([a-z_]+)\b(?!\s*\()|\binto\s+([a-z_]+)\s*\(/g,
    ),
  ]
    .map((match) => match[1] ?? match[2] ?? '')
    .filter((name) => name !== 'lateral')
}
