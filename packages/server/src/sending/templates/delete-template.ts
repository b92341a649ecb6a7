/**
 * deleteTemplate (docs/reference/templates.md#deletion): the template with all versions, or one version. Accepted
 * mail holds what was rendered, so it is sent as before.
 */
import type { Db } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { isId } from '../../platform/ids.ts'
import * as store from './template-store.ts'

export async function deleteTemplate(
  { db }: { readonly db: Db },
  key: store.TemplateKey,
  version: number | undefined,
): Promise<void> {
  if (!isId('tpl', key.templateId)) throw new ApiError('not_found')
  await db.transaction(async (tx) => {
    await store.lockTemplates(tx, key.tenantId)
    if (version === undefined) {
      if (!(await store.removeTemplate(tx, key))) throw new ApiError('not_found')
      return
    }
    const found = await store.readVersion(tx, key, version)
    if (found === undefined) throw versionGone(version)
    if (found.newest === version)
      throw new ApiError('conflict', {
        message: 'The newest version leaves with the whole template alone: make a newer one first',
      })
    await store.removeVersion(tx, key, version)
  })
}

/** Also of a template that is not there, or not of this tenant. */
export function versionGone(version: number | undefined): ApiError {
  if (version === undefined) return new ApiError('not_found')
  return new ApiError('not_found', {
    message: `Not Found: there is no such template, or it has no version ${version}`,
  })
}
