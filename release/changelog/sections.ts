/** The sections of CHANGELOG.md: one for each release, the newest first, under what is not released yet. */

const HEADING = /^## \[([^\]]+)\].*$/gm

export const UNRELEASED = 'Unreleased'

interface Section {
  /** A version, or `Unreleased`. */
  readonly name: string
  readonly start: number
  readonly body: string
}

export function sectionOf(changelog: string, name: string): string | undefined {
  return sectionsOf(changelog).find((section) => section.name === name)?.body
}

/** What was written since that release, in however many sections; everything where there is none. */
export function wordsSince(changelog: string, version: string | undefined): string {
  const until = sectionsOf(changelog).find(({ name }) => name === version)?.start
  return changelog.slice(0, until)
}

interface NewSection {
  readonly version: string
  readonly date: string
  /** What is below the words that people wrote. */
  readonly commits: string
}

/** Turns what is under `Unreleased` into the section of a release. */
export function addRelease(changelog: string, { version, date, commits }: NewSection): string {
  const unreleased = sectionsOf(changelog).find(({ name }) => name === UNRELEASED)
  if (sectionOf(changelog, version) !== undefined)
    throw new Error(`CHANGELOG.md has a section for ${version} already`)
  if (unreleased === undefined || unreleased.body === '')
    throw new Error('CHANGELOG.md says nothing under [Unreleased]: write what readers should know')
  const rest = changelog
    .slice(unreleased.start)
    .replace(HEADING, (heading, name) => (name === UNRELEASED ? '' : heading))
  const older = rest.slice(rest.indexOf(unreleased.body) + unreleased.body.length).trim()
  const parts = [
    changelog.slice(0, unreleased.start).trim(),
    `## [${UNRELEASED}]`,
    `## [${version}] - ${date}`,
    ...[unreleased.body, commits, older].filter((part) => part !== ''),
  ]
  return `${parts.join('\n\n')}\n`
}

function sectionsOf(changelog: string): Section[] {
  const headings = [...changelog.matchAll(HEADING)]
  return headings.map((heading, i) => ({
    name: heading[1] ?? '',
    start: heading.index,
    body: changelog.slice(heading.index + heading[0].length, headings[i + 1]?.index).trim(),
  }))
}
