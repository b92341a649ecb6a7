/** The list of commits below the words of a release, by their kind. */

const SUBJECT = /^(\w+)(?:\(([^)]+)\))?: (.+)$/

/** What users may notice; commits of other kinds are counted. */
const KINDS: readonly (readonly [kind: string, heading: string])[] = [
  ['feat', 'Added'],
  ['fix', 'Fixed'],
  ['perf', 'Faster'],
]

export interface Commit {
  readonly hash: string
  readonly subject: string
}

/** @param since the release before */
export function listCommits(commits: readonly Commit[], since: string): string {
  const read = commits.map(({ hash, subject }) => {
    const [, kind = 'other', area, text = subject] = SUBJECT.exec(subject) ?? []
    const named = area === undefined ? text : `${area}: ${text}`
    return { kind, line: `- ${escapeMarkdown(named)} (${hash})` }
  })
  const listed = KINDS.flatMap(([kind, heading]) => {
    const lines = read.filter((one) => one.kind === kind).map(({ line }) => line)
    return lines.length === 0 ? [] : [`#### ${heading}\n\n${lines.join('\n')}`]
  })
  const others = read.filter(({ kind }) => !KINDS.some(([listedKind]) => listedKind === kind))
  const kinds = [...new Set(others.map(({ kind }) => kind))].sort().join(', ')
  const counted = others.length === 0 ? [] : [`${others.length} others: ${kinds}.`]
  return [`### Commits since ${since}`, ...listed, ...counted].join('\n\n')
}

function escapeMarkdown(text: string): string {
  return text.replaceAll(/[[\]<>*_|]/g, (character) => `\\${character}`)
}
