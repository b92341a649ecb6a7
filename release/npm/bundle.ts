/**
 * Bundles the service: its own packages become a few modules of JavaScript in one folder, and the packages
 * of others stay imports.
 *
 * A module that names a file beside itself by `new URL('…', import.meta.url)` is elsewhere in the bundle.
 * Where the file is a module, it becomes an entry of the bundle: so do threads. All other files are in the
 * table `files`, by which they are copied, too. A file that is in neither fails the build.
 */
import { isBuiltin } from 'node:module'
import { posix, relative } from 'node:path'
import { type Plugin, rolldown } from 'rolldown'
import { root } from './project.ts'

export interface Bundle {
  /** Modules by their name in the folder. */
  readonly modules: ReadonlyMap<string, string>
  /** The packages that they import. */
  readonly packages: readonly string[]
}

interface BundleOptions {
  /** From the root of the repository. */
  readonly entry: string
  /** Where a file or folder of the repository is, as seen from the bundle's folder. */
  readonly files: ReadonlyMap<string, string>
  /** Packages of others become part of it, too: one file is loaded in place of a thousand. */
  readonly isWhole?: boolean
}

const OWN = /^(?:[./]|@postrider\/)/
const NAMED_FILE = /new URL\(\s*'([^']+)',\s*import\.meta\.url,?\s*\)/g

export async function bundleService({ entry, files, isWhole }: BundleOptions): Promise<Bundle> {
  const build = await rolldown({
    cwd: root,
    input: { [nameOf(entry)]: entry },
    platform: 'node',
    external: (id) => isWhole !== true && !OWN.test(id),
    plugins: [followNamedFiles(files), ...(isWhole === true ? [takeBuiltins()] : [])],
    onLog: (_level, log) => {
      throw new Error(log.message)
    },
  })
  const { output } = await build.generate({
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    comments: false,
  })
  await build.close()
  const chunks = output.filter((one) => one.type === 'chunk')
  const imported = chunks.flatMap((one) => [...one.imports, ...one.dynamicImports])
  const ours = new Set(chunks.map((one) => one.fileName))
  return {
    modules: new Map(chunks.map((one) => [one.fileName, one.code])),
    packages: [...new Set(imported.filter((one) => !ours.has(one)).flatMap(packageOf))].sort(),
  }
}

function followNamedFiles(files: ReadonlyMap<string, string>): Plugin {
  return {
    name: 'follow-named-files',
    transform(code, id) {
      const module = new URL(relative(root, id), 'file:///')
      return code.replaceAll(NAMED_FILE, (_whole, named: string) => {
        const path = new URL(named, module).pathname.slice(1)
        const place = files.get(path) ?? `./${nameOf(path)}.js`
        if (!files.has(path)) {
          if (!path.endsWith('.ts'))
            throw new Error(`${id} names ${path}: where is it in the package?`)
          const fileName = posix.basename(place)
          this.emitFile({ type: 'chunk', id: `${root}${path}`, fileName })
        }
        return `new URL('${place}', import.meta.url)`
      })
    },
  }
}

/** An import of Node's `http` as a module reads all that it exports, and so loads all of its `fetch`. */
function takeBuiltins(): Plugin {
  const mark = '\0builtin:'
  return {
    name: 'take-builtins',
    // The bundler's own module imports that one.
    resolveId: (id) => (isBuiltin(id) && id !== 'node:module' ? mark + id : null),
    load: (id) =>
      id.startsWith(mark)
        ? `module.exports = process.getBuiltinModule(${JSON.stringify(id.slice(mark.length))})`
        : null,
  }
}

function nameOf(path: string): string {
  return posix.basename(path, '.ts')
}

/** Of what a module imports: none for Node's own modules and those of the bundle. */
function packageOf(specifier: string): string[] {
  const [scope = '', name] = specifier.split('/')
  if (isBuiltin(specifier)) return []
  return [scope.startsWith('@') ? `${scope}/${name}` : scope]
}
