/**
 * What a migration must not do to a table that is in use: keep readers and writers waiting, rewrite
 * it, or take from older programs what they read.
 *
 * The rules see statements, not PostgreSQL's parser: comments, strings and bodies of functions are
 * taken out, what is left is compared word by word. A table that the same file creates is empty, so
 * the rules leave it alone.
 */

export interface MigrationText {
  readonly name: string
  readonly text: string
}

interface Rule {
  readonly says: string
  /** Whether the statement breaks it. */
  readonly isBroken: (statement: string, file: File) => boolean
}

interface File {
  readonly isBreaking: boolean
  readonly isConcurrent: boolean
  readonly statements: readonly string[]
  readonly created: ReadonlySet<string>
  /** Of all files up to this one. */
  readonly before: readonly string[]
}

const NAME = '((?:"[^"]+"|[a-z_][\\w$]*)(?:\\.[a-z_][\\w$]*)?)'
const ALTER = new RegExp(`^alter table (?:if exists )?(?:only )?${NAME} (.*)$`)
const INDEX =
  /^create (?:unique )?index (concurrently )?(?:if not exists )?([\w$".]* ?)on (only )?([\w$".]+)/
const VOLATILE = /default .*\b(?:now|clock_timestamp|random|gen_random_uuid|nextval)\b/
const DROP_INDEX = /^drop index concurrently if exists ([\w$".]+)/

/** Whether it is an `alter table` of a table in use, one of whose actions is like that. */
const altering =
  (pattern: RegExp, but: RegExp = /$^/) =>
  (statement: string, { created }: File) => {
    const [, table = '', actions = ''] = ALTER.exec(statement) ?? []
    if (table === '' || created.has(table)) return false
    return actionsOf(actions).some((action) => pattern.test(action) && !but.test(action))
  }

export const rules: Readonly<Record<string, Rule>> = {
  'index-on-table-in-use': {
    says: 'build it concurrently in a file of its own (-- concurrently); on a partitioned table, `on only` it: new days get it',
    isBroken(statement, { created }) {
      const [, concurrently, , only, table = ''] = INDEX.exec(statement) ?? []
      return table !== '' && !created.has(table) && concurrently === undefined && only === undefined
    },
  },
  'concurrently-in-transaction': {
    says: 'a file with `concurrently` begins with -- concurrently',
    isBroken: (statement, { isConcurrent }) =>
      !isConcurrent && /^(?:create (?:unique )?|drop |re)index concurrently/.test(statement),
  },
  'concurrent-file': {
    says: 'a file with -- concurrently holds pairs alone: drop index concurrently if exists NAME; create index concurrently NAME',
    isBroken(statement, { isConcurrent, statements }) {
      if (!isConcurrent || DROP_INDEX.test(statement)) return false
      const name = INDEX.exec(statement)?.[2]?.trim()
      const previous = statements[statements.indexOf(statement) - 1] ?? ''
      return name === undefined || DROP_INDEX.exec(previous)?.[1] !== name
    },
  },
  'set-not-null': {
    says: 'first add a check (column is not null) not valid, then validate it in a later file; then this needs no scan',
    isBroken(statement, file) {
      const column = /alter (?:column )?(\S+) set not null/.exec(statement)?.[1]
      if (column === undefined || !altering(/set not null/)(statement, file)) return false
      const [, table = ''] = ALTER.exec(statement) ?? []
      return !isProven(file.before, { table, column })
    },
  },
  'column-type': {
    says: 'add a column of the new type; a change of the type rewrites the table under a lock',
    isBroken: altering(/^alter (?:column )?\S+ (?:set data )?type\b/),
  },
  'rewriting-column': {
    says: 'add the column with a constant default, or without one; anything else rewrites the table',
    isBroken: (statement, file) =>
      altering(VOLATILE)(statement, file) ||
      altering(/^add (?:column )?.*(?:\bgenerated\b|\b(?:small|big)?serial\b)/)(statement, file),
  },
  'not-null-without-default': {
    says: 'a new column that is not null needs a constant default',
    isBroken: altering(/^add (?:column )?(?!constraint).*\bnot null\b/, /\bdefault\b/),
  },
  'constraint-at-once': {
    says: 'add it not valid and validate it in a later file; a unique one or a key using an index that was built concurrently',
    isBroken: altering(
      /^add (?:constraint .*|(?:column )?.*)\b(?:check|references|foreign key|unique|primary key|exclude)\b/,
      /not valid$|using index/,
    ),
  },
  'validated-with-its-addition': {
    says: 'validate a constraint in a later file: the lock of its addition lasts to the end of the transaction',
    isBroken(statement, { statements }) {
      const name = /validate constraint (\S+)/.exec(statement)?.[1]
      return name !== undefined && statements.some((one) => one.includes(`add constraint ${name} `))
    },
  },
  'whole-table': {
    says: 'it rewrites or locks the whole table',
    isBroken: (statement, file) =>
      /^(?:vacuum|cluster|reindex (?!index concurrently)|lock |truncate )/.test(statement) ||
      altering(/^set (?:logged|unlogged|tablespace|access method)/)(statement, file),
  },
  'all-rows': {
    says: 'change rows in bounded pieces, by the program; a migration changes none of a table in use without a `where`',
    isBroken(statement, { created }) {
      const table = /^(?:update|delete from) (?:only )?([\w$".]+)/.exec(statement)?.[1]
      return table !== undefined && !created.has(table) && !/ where /.test(statement)
    },
  },
  'unmarked-breaking': {
    says: 'older programs read it: mark the file -- breaking, or drop it in a later release',
    isBroken: (statement, file) =>
      !file.isBreaking &&
      (/^drop (?:table|view|function|type)\b/.test(statement) ||
        altering(/^(?:drop (?:column )?(?!constraint|default|not null)|rename\b)/)(
          statement,
          file,
        )),
  },
  'own-lock-timeout': {
    says: 'the runner sets lock_timeout, and tries again',
    isBroken: (statement) => /^set .*\b(?:lock_timeout|statement_timeout)\b/.test(statement),
  },
}

/** Of each rule that the last of these files breaks: its name, what it says, and the statement. */
export function brokenRules(files: readonly MigrationText[]): string[] {
  const last = files.at(-1)
  if (last === undefined) return []
  const statements = statementsOf(last.text)
  const file: File = {
    statements,
    isBreaking: /^--\s*breaking\b/.test(last.text),
    isConcurrent: /^(?:--.*\n)*--\s*concurrently\b/.test(last.text),
    created: new Set(statements.flatMap(createdBy)),
    before: files.flatMap(({ text }) => statementsOf(text)),
  }
  return statements.flatMap((statement) =>
    Object.entries(rules)
      .filter(([, rule]) => rule.isBroken(statement, file))
      .map(([rule, { says }]) => `${last.name} ${rule}: ${says}: ${statement.slice(0, 80)}`),
  )
}

function createdBy(statement: string): string[] {
  const created = new RegExp(`^create (?:unlogged )?table (?:if not exists )?${NAME}`)
  return created.exec(statement)?.slice(1, 2) ?? []
}

function isProven(statements: readonly string[], o: { table: string; column: string }): boolean {
  const check = new RegExp(
    `add constraint (\\S+) check \\( ?${o.column} is not null ?\\) not valid`,
  )
  const ofTable = statements.filter((one) => ALTER.exec(one)?.[1] === o.table)
  const name = ofTable.map((one) => check.exec(one)?.[1]).find((one) => one !== undefined)
  return name !== undefined && ofTable.some((one) => one.endsWith(`validate constraint ${name}`))
}

/** Lower case, one blank between words; without comments, and without what is in strings. */
export function statementsOf(text: string): string[] {
  return text
    .replace(/\$(\w*)\$[\s\S]*?\$\1\$/g, "''")
    .replace(/'(?:[^']|'')*'|--.*$|\/\*[\s\S]*?\*\//gm, (found) => (found[0] === "'" ? "''" : ' '))
    .split(';')
    .map((one) => one.toLowerCase().replace(/\s+/g, ' ').trim())
    .filter((one) => one !== '')
}

/** Divided at commas outside of brackets. */
function actionsOf(text: string): string[] {
  const actions: string[] = []
  let depth = 0
  let action = ''
  for (const character of text) {
    if (character === '(') depth += 1
    if (character === ')') depth -= 1
    if (character === ',' && depth === 0) {
      actions.push(action.trim())
      action = ''
    } else action += character
  }
  return [...actions, action.trim()]
}
