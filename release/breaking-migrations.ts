/**
 * What docs/operations/upgrade.md promises of migrations: a released one is never edited, and one that breaks older
 * programs says so in its first line and in CHANGELOG.md. They are compared with the last release; candidates are
 * not upgraded from.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brokenRules, type MigrationText } from '../packages/server/test/migration-rules.ts'
import { wordsSince } from './changelog/sections.ts'
import { git, isCandidate, releaseTags } from './git.ts'

const FOLDER = 'packages/server/migrations'
const BREAKING = /^--\s*breaking\b/
/** A table, column, view or type goes, gets another name, or a column gets another type. */
const BREAKS_OLDER = / (?:unmarked-breaking|column-type): /

/** Of the repository at `root`; none before the first release. */
export function migrationProblems(root: string): string[] {
  const last = releaseTags(root).find((tag) => !isCandidate(tag))
  if (last === undefined) return []
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  return findProblems({
    released: releasedAt(root, last),
    present: presentIn(root),
    words: wordsSince(changelog, last.slice(1)),
  })
}

interface Compared {
  readonly released: readonly MigrationText[]
  readonly present: readonly MigrationText[]
  /** What CHANGELOG.md says since the last release. */
  readonly words: string
}

function findProblems({ released, present, words }: Compared): string[] {
  const textOf = new Map(present.map(({ name, text }) => [name, text]))
  const edited = released
    .filter(({ name, text }) => textOf.get(name) !== text)
    .map(({ name }) => `${name} is released: restore it, and put the change into a new file`)
  const known = new Set(released.map(({ name }) => name))
  const unnamed = present.filter(({ name }) => !known.has(name)).flatMap(ofNew)
  return [...edited, ...unnamed]

  function ofNew({ name, text }: MigrationText): string[] {
    // Without its mark: what would break the rules is what breaks older programs.
    const breaks = brokenRules([{ name, text: `\n${text}` }]).some((one) => BREAKS_OLDER.test(one))
    const isMarked = BREAKING.test(text)
    const number = name.replace(/\.sql$/, '')
    return [
      ...(breaks && !isMarked ? [`${name} breaks older programs: begin it with -- breaking`] : []),
      ...((breaks || isMarked) && !words.includes(`\`${number}\``)
        ? [`${name} breaks older programs: name \`${number}\` in CHANGELOG.md`]
        : []),
    ]
  }
}

function releasedAt(root: string, tag: string): MigrationText[] {
  const names = git(root, 'ls-tree', '--name-only', tag, `${FOLDER}/`).split('\n')
  return names
    .filter((path) => path.endsWith('.sql'))
    .map((path) => ({
      name: path.slice(FOLDER.length + 1),
      text: `${git(root, 'show', `${tag}:${path}`)}\n`,
    }))
}

function presentIn(root: string): MigrationText[] {
  return readdirSync(join(root, FOLDER))
    .sort()
    .map((name) => ({
      name,
      text: `${readFileSync(join(root, FOLDER, name), 'utf8').trim()}\n`,
    }))
}
