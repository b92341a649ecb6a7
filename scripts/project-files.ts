/** The project's documents and sources, as the checks of what they say read them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'

export const root = new URL('../', import.meta.url)

/** Paths from the root of every Markdown, TypeScript, JavaScript and SQL file, in order. */
export function projectFiles(): string[] {
  const parts = readdirSync(new URL('packages/', root)).flatMap((name) =>
    ['src', 'test', 'migrations'].map((part) => `packages/${name}/${part}`),
  )
  const pages = readdirSync(new URL('packages/', root))
    .map((name) => `packages/${name}/README.md`)
    .filter((path) => isThere(path))
  return readdirSync(root)
    .filter((name) => name.endsWith('.md'))
    .concat(
      pages,
      ['docs', 'e2e', 'bench', 'scripts', 'release', 'site/pages', 'site/test', ...parts].flatMap(
        filesOf,
      ),
    )
    .sort()
}

export function read(path: string): string {
  return readFileSync(new URL(path, root), 'utf8')
}

export function isThere(path: string): boolean {
  return existsSync(new URL(path, root))
}

/** The anchors of a document, as hosts of repositories make them of headings. */
export function anchorsOf(text: string): Set<string> {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
  return new Set(headings)
}

/** Of a line of source: the comment that it is, or ends with. */
export function commentOf(line: string): string {
  return /^\s*(?:\/\/|\/?\*|--)(.*)$/.exec(line)?.[1] ?? /\s\/\/ (.*)$/.exec(line)?.[1] ?? ''
}

function filesOf(folder: string): string[] {
  if (!isThere(folder)) return []
  return readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' })
    .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
    .filter((path) => /\.(md|ts|mjs|sql)$/.test(path) && !/\/(node_modules|dist)\//.test(path))
}
