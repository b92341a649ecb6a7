/** One number of what a tenant uses: asked for once its row is seen, so that a long list asks little. */
import type { TenantUsage as Usage } from '@postrider/client'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useFormat } from '../words/format.ts'
import { tenantQuery } from './tenant-query.ts'

export function TenantUsage({
  tenantId,
  of,
}: {
  readonly tenantId: string
  readonly of: keyof Usage
}) {
  const format = useFormat()
  const cell = useRef<HTMLSpanElement>(null)
  const [isSeen, setSeen] = useState(false)
  const { data } = useQuery({ ...tenantQuery(tenantId), enabled: isSeen })
  useEffect(() => {
    if (isSeen || cell.current === null) return
    const observer = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting === true) setSeen(true)
    })
    observer.observe(cell.current)
    return () => observer.disconnect()
  }, [isSeen])
  const used = data?.tenant.usage[of]
  const shown = of === 'storage_bytes' ? format.bytes : format.integer
  return <span ref={cell}>{used === undefined ? '·' : shown(used)}</span>
}
