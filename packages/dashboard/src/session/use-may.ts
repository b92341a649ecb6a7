/** Whether the reader may call an operation that is not of one tenant. */
import type { OperationId } from '@postrider/client'
import { mayCall } from './may.ts'
import { useSession } from './session.ts'

export function useMay(): (operation: OperationId) => boolean {
  const { role, user } = useSession()
  return (operation) => role !== null && mayCall({ role, content: user.content }, operation)
}
