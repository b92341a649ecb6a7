/** Whether a list of parts is one. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Ajv, type AnySchemaObject } from 'ajv'

/** By the schema of CycloneDX. Formats of texts, such as dates, are not looked at. */
export function faultsOf(sbom: object): readonly unknown[] {
  const require = createRequire(import.meta.url)
  const folder = dirname(require.resolve('@cyclonedx/cyclonedx-library/package.json'))
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false })
  const read = (name: string): AnySchemaObject => {
    const file = `${name}.SNAPSHOT.schema.json`
    const schema = JSON.parse(readFileSync(join(folder, 'res/schema', file), 'utf8'))
    return { ...schema, $id: `http://cyclonedx.org/schema/${file}` }
  }
  for (const name of ['spdx', 'jsf-0.82', 'cryptography-defs']) ajv.addSchema(read(name))
  const validate = ajv.compile(read('bom-1.6'))
  return validate(sbom) ? [] : (validate.errors ?? [])
}
