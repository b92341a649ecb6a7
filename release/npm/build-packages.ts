/** Builds all packages that are published on npm, each into a folder, and packs them. */
import { join } from 'node:path'
import { buildClient } from '../../scripts/build-client.ts'
import { buildPostrider } from './build-postrider.ts'
import { buildTestkit } from './build-testkit.ts'
import { pack, type Tarball } from './pack.ts'

/** By the packages' names. */
export type Packages = Readonly<Record<'postrider' | 'client' | 'testkit', Tarball>>

/** Folders go into `npm` of `dist`, archives into `dist` itself. */
export async function buildPackages(dist: string): Promise<Packages> {
  const folder = (name: string) => join(dist, 'npm', name)
  await buildPostrider(folder('postrider'))
  buildClient(folder('client'))
  buildTestkit(folder('testkit'))
  return {
    postrider: pack(folder('postrider'), dist),
    client: pack(folder('client'), dist),
    testkit: pack(folder('testkit'), dist),
  }
}
