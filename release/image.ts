/** Builds the container image for each architecture into dist/image: `npm run release:image`, `-- x64` for one. */
import { statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { ARCHS } from './app/build-app.ts'
import { buildImage } from './image/build-image.ts'
import { root } from './npm/project.ts'

const wanted = process.argv.slice(2)
for (const name of wanted)
  if (!ARCHS.some((arch) => arch === name))
    throw new Error(`${name}: not one of ${ARCHS.join(', ')}`)

for (const arch of ARCHS.filter((one) => wanted.length === 0 || wanted.includes(one))) {
  const { path, digest } = await buildImage({ arch, outDir: join(root, 'dist/image') })
  const megabytes = (statSync(path).size / 1_000_000).toFixed(1)
  console.log(`${relative(root, path)}: ${megabytes} MB, ${digest}`)
}
