/** Makes what is published on npm: `npm run release:npm` builds the packages into dist/npm, and packs them into dist. */
import { join, relative } from 'node:path'
import { buildPackages } from './npm/build-packages.ts'
import { root } from './npm/project.ts'

const kB = (bytes: number) => `${Math.round(bytes / 1_000)} kB`

for (const tarball of Object.values(await buildPackages(join(root, 'dist')))) {
  const { path, packedBytes, unpackedBytes, files } = tarball
  console.log(
    `${relative(root, path)}: ${kB(packedBytes)} packed, ${kB(unpackedBytes)} unpacked, ${files.length} files`,
  )
}
