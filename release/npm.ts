/** Makes what is published on npm: `npm run release:npm` builds the packages into dist/npm and packs them into dist. */
import { join } from 'node:path'
import { buildPostrider } from './npm/build-postrider.ts'
import { root } from './npm/project.ts'

await buildPostrider(join(root, 'dist/npm/postrider'))
