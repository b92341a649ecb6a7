/** What every published package says of itself in package.json; the addresses are those of the root's. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

interface PackageFacts {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly keywords: readonly string[]
  readonly license: string
  /** `Name <address>`. The Debian package has it as its maintainer. */
  readonly author: string
  readonly homepage: string
  readonly bugs: string
  readonly repository: { readonly type: string; readonly url: string; readonly directory?: string }
}

function readPackageJson(folder: string): PackageFacts {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
}

/** `folder`: where its source is. npm accepts a signed statement of origin only with `repository`. */
export function packageFacts(folder: string): PackageFacts {
  const { version, license, author, homepage, bugs, repository } = readPackageJson('.')
  const { name, description, keywords } = readPackageJson(folder)
  const directory = folder === '.' ? {} : { directory: folder }
  return {
    ...{ name, version, description, keywords, license, author, homepage, bugs },
    repository: { ...repository, ...directory },
  }
}
