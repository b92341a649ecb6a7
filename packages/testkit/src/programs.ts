/**
 * The programs that tests start: those of this repository, or those of an installed package, whose folder
 * INSTALLED_POSTRIDER names (`npm run test:packed`). BUNDLED_SERVICE names a bundle of the sources, which
 * starts faster.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = process.env.INSTALLED_POSTRIDER
const source = (path: string): string =>
  fileURLToPath(new URL(`../../server/${path}`, import.meta.url))

/** Each is a path that `node` can run. Without arguments both run the service. */
interface Programs {
  readonly service: string
  readonly cli: string
}

/** As users start them. */
export const unbundled: Programs =
  folder === undefined
    ? { service: source('src/main.ts'), cli: source('bin/postrider.mjs') }
    : programsOf(folder)

export const programs: Programs = {
  ...unbundled,
  service: process.env.BUNDLED_SERVICE ?? unbundled.service,
}

export function programsOf(packageDir: string): Programs {
  const program = join(packageDir, 'bin/postrider.cjs')
  return { service: program, cli: program }
}
