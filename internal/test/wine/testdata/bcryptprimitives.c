/*
 * The one function of bcryptprimitives.dll that the Go runtime calls at its start, for
 * a wine that does not have it yet. The random bytes come from the function that Windows
 * had for them before.
 */
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size)
{
	while (size > 0) {
		ULONG part = size > 0x10000 ? 0x10000 : (ULONG)size;
		if (!RtlGenRandom(data, part))
			return FALSE;
		data += part;
		size -= part;
	}
	return TRUE;
}
