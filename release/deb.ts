/** Makes the Debian packages: `npm run release:deb` writes one for each architecture into dist/deb. */
import { statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { ARCHS } from './app/build-app.ts'
import { buildDeb } from './deb/build-deb.ts'
import { root } from './npm/project.ts'

for (const arch of ARCHS) {
  const path = await buildDeb({ arch, outDir: join(root, 'dist/deb') })
  console.log(`${relative(root, path)}: ${(statSync(path).size / 1e6).toFixed(1)} MB`)
}
