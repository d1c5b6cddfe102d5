/*
** Runs of fields that several layouts share, in the notation of layout.c.
*/
#ifndef SONDE_CLR_LAYOUT_FIELDS_H
#define SONDE_CLR_LAYOUT_FIELDS_H

/* Most events end so: which of the runtimes in a process it was. */
#define CLR "ClrInstanceID:u16"

#define METHOD_NAMES "MethodNamespace:z MethodName:z MethodSignature:z "
#define METHOD_HEAD "MethodID:ptr64 ModuleID:ptr64 MethodStartAddress:ptr64 " \
  "MethodSize:u32 MethodToken:u32 MethodFlags:u32 "
#define METHOD_TAIL CLR " ReJITID:u64"
#define METHOD METHOD_HEAD METHOD_TAIL
#define METHOD_VERBOSE METHOD_HEAD METHOD_NAMES METHOD_TAIL
#define IL_MAP "MethodID:ptr64 ReJITID:u64 MethodExtent:u8 " \
  "CountOfMapEntries:u16 ILOffsets:u32*CountOfMapEntries " \
  "NativeOffsets:u32*CountOfMapEntries " CLR " ILVersionID:u64"
#define MODULE "ModuleID:ptr64 AssemblyID:ptr64 ModuleFlags:u32 " \
  "Reserved1:u32 ModuleILPath:z ModuleNativePath:z " CLR " " \
  "ManagedPdbSignature:g ManagedPdbAge:u32 ManagedPdbBuildPath:z " \
  "NativePdbSignature:g NativePdbAge:u32 NativePdbBuildPath:z"
#define DOMAIN_MODULE "ModuleID:ptr64 AssemblyID:ptr64 AppDomainID:ptr64 " \
  "ModuleFlags:u32 Reserved1:u32 ModuleILPath:z ModuleNativePath:z " CLR
#define MODULE_RANGE CLR " ModuleID:ptr64 RangeBegin:u32 RangeSize:u32 " \
  "RangeType:u8"
#define ASSEMBLY "AssemblyID:ptr64 AppDomainID:ptr64 BindingID:u64 " \
  "AssemblyFlags:u32 FullyQualifiedAssemblyName:z " CLR
#define APP_DOMAIN "AppDomainID:ptr64 AppDomainFlags:u32 AppDomainName:z " \
  "AppDomainIndex:u32 " CLR
#define RUNTIME CLR " Sku:u16 BclMajorVersion:u16 " \
  "BclMinorVersion:u16 BclBuildNumber:u16 BclQfeNumber:u16 " \
  "VMMajorVersion:u16 VMMinorVersion:u16 VMBuildNumber:u16 " \
  "VMQfeNumber:u16 StartupFlags:u32 StartupMode:u8 CommandLine:z " \
  "ComObjectGuid:g RuntimeDllPath:z"
#define THREAD "ManagedThreadID:ptr64 AppDomainID:ptr64 Flags:u32 " \
  "ManagedThreadIndex:u32 OSThreadID:u32 " CLR
#define CHECKPOINT CLR " Name:z Timestamp:i64"
#define TIERS CLR " Flags:u32"

/* A stack as ETW has it; EventPipe's events carry theirs outside. */
#define STACK_WALK CLR " Reserved1:u8 Reserved2:u8 FrameCount:u32 " \
  "Stack:ptr*FrameCount"

#define GC_HANDLE "HandleID:ptr ObjectID:ptr Kind:u32 Generation:u32 " \
  "AppDomainID:ptr64 " CLR
#define GC_GLOBAL_HEAP "FinalYoungestDesired:u64 NumHeaps:i32 " \
  "CondemnedGeneration:u32 Gen0ReductionCount:u32 Reason:u32 " \
  "GlobalMechanisms:u32 " CLR

#endif
