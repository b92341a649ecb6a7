/**
 * The files of the dashboard as `scripts/build-dashboard.mjs` made them, read once at start: no path of a
 * request reaches the disk, and a build that follows changes nothing until the next start.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'

/** Each answer puts a nonce of its own in its place. */
const NONCE_MARK = '__CSP_NONCE__'
/** How people log in here: `password`, `password oidc` or `oidc`. */
const LOGIN_WAYS_MARK = '__LOGIN_WAYS__'

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
}
/** Best first. The build writes the compressed copies beside the files. */
const CODINGS = [
  { coding: 'br', suffix: '.br' },
  { coding: 'gzip', suffix: '.gz' },
] as const

export interface BuiltFile {
  readonly type: string
  readonly bytes: Buffer
  /** Smaller ones, best first. */
  readonly compressed: readonly { readonly coding: 'br' | 'gzip'; readonly bytes: Buffer }[]
}

export interface BuiltFiles {
  index(nonce: string): string
  /** By the name below `assets/`. */
  readonly assets: ReadonlyMap<string, BuiltFile>
}

/** Undefined: nothing was built yet. */
export function readBuiltFiles(folder: URL, loginWays: string): BuiltFiles | undefined {
  const indexFile = new URL('index.html', folder)
  if (!existsSync(indexFile)) return undefined
  const pieces = readFileSync(indexFile, 'utf8')
    .replace(LOGIN_WAYS_MARK, loginWays)
    .split(NONCE_MARK)
  return {
    index: (nonce) => pieces.join(nonce),
    assets: readAssets(new URL('assets/', folder)),
  }
}

function readAssets(folder: URL): ReadonlyMap<string, BuiltFile> {
  const names = readdirSync(folder)
  const read = (name: string) => readFileSync(new URL(name, folder))
  const assets = new Map<string, BuiltFile>()
  for (const name of names) {
    if (CODINGS.some(({ suffix }) => name.endsWith(suffix))) continue
    const type = TYPES[extname(name)]
    if (type === undefined) throw new Error(`${name} of the dashboard has no type to be sent with`)
    const compressed = CODINGS.filter(({ suffix }) => names.includes(name + suffix)).map(
      ({ coding, suffix }) => ({ coding, bytes: read(name + suffix) }),
    )
    assets.set(name, { type, bytes: read(name), compressed })
  }
  return assets
}
